/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs/gids.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

/* The length of an attribute has 16 bits, so 64 KiB would become 0. */
#define AT_ONCE (65535 / sizeof(struct ibv_gid_entry))

static void add_entry(GArray *gids, const struct ibv_gid_entry *entry)
{
	RdmadKnownGid gid = {
		.port = entry->port_num,
		.index = entry->gid_index,
		.v2 = entry->gid_type == IBV_GID_TYPE_ROCE_V2,
	};

	memcpy(gid.raw, entry->gid.raw, sizeof(gid.raw));
	g_array_append_val(gids, gid);
}

/* Returns 0 or an errno; EINVAL also if there are more than AT_ONCE entries. */
static int query_at_once(const RdmadVerbsOpen *open, GArray *gids)
{
	g_autofree struct ibv_gid_entry *entries = g_new(struct ibv_gid_entry, AT_ONCE);
	const ssize_t n = ibv_query_gid_table(open->context, entries, AT_ONCE, 0);

	for (ssize_t i = 0; i < n; i++)
		add_entry(gids, &entries[i]);
	return n < 0 ? (int)-n : 0;
}

/* ENODATA: an empty entry. */
static int query_one_by_one(const RdmadVerbsOpen *open, GArray *gids)
{
	for (guint port = 1; port <= open->limits->n_ports; port++)
		for (guint i = 0; i < open->limits->ports[port - 1].gid_tbl_len; i++) {
			struct ibv_gid_entry entry;
			const int errnum = ibv_query_gid_ex(open->context, port, i, &entry, 0);

			if (errnum && errnum != ENODATA)
				return errnum;
			if (!errnum)
				add_entry(gids, &entry);
		}
	return 0;
}

static RdmadVerbsOpen *find_node(const GPtrArray *open, const char *node)
{
	for (guint i = 0; i < open->len; i++) {
		RdmadVerbsOpen *device = open->pdata[i];

		if (!strcmp(device->node, node))
			return device;
	}
	return NULL;
}

GArray *rdmad_verbs_gids_query(const char *node, gpointer open)
{
	g_autoptr(GArray) gids = g_array_new(FALSE, FALSE, sizeof(RdmadKnownGid));
	RdmadVerbsOpen *device = find_node(open, node);
	int errnum;

	if (!device)
		return NULL;
	errnum = query_at_once(device, gids);
	if (errnum == EINVAL && device->limits)
		errnum = query_one_by_one(device, gids);
	g_atomic_int_set(&device->gids_errnum, errnum);
	return errnum ? NULL : g_steal_pointer(&gids);
}
