/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gid.h"

#define PORTS_MAX     32u
#define PORTS_MAX_OLD 16u   /* up to 2.18 */
#define ENTRY_MAX     64u   /* of an entry of NCCL_IB_HCA */
#define QP_INDEX_MASK 0xffu /* struct ibv_global_route.sgid_index */

guint nccl_port_limit(guint minor)
{
	return minor <= 18 ? PORTS_MAX_OLD : PORTS_MAX;
}

/* ---- numbers ---- */

/* Numbers have base 0, so a leading 0 means octal.  Up to 2.31, text without a number is 0. */
static gint64 env_number(const NcclEnv *env, const char *name, gint64 unset, guint minor)
{
	const char *text = nccl_env_get(env, name);
	gint64 value;
	char *end;

	if (!text || !text[0])
		return unset;
	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || (minor >= 32 && end == text))
		return unset;
	return value;
}

/* ---- NCCL_IB_HCA ---- */

typedef struct {
	char name[ENTRY_MAX];
	int port; /* -1: every port */
} HcaEntry;

typedef struct {
	gboolean except, exact;
	HcaEntry entries[PORTS_MAX];
	guint n;
} HcaList;

/* "name", "name:port", and since 2.30 "name:port:rail:plane"; an entry without a name is
 * skipped. */
static void hca_entry_parse(HcaList *list, const char *text, guint minor)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 3);
	HcaEntry *entry = &list->entries[list->n];

	if (!parts[0] || !parts[0][0])
		return;
	g_strlcpy(entry->name, parts[0], sizeof(entry->name));
	entry->port = -1;
	if (parts[1] && (minor < 30 || parts[1][0]))
		entry->port = atoi(parts[1]);
	list->n++;
}

static void hca_list_parse(HcaList *list, const char *text, guint minor)
{
	g_auto(GStrv) entries = NULL;

	*list = (HcaList){ 0 };
	if (!text)
		return;
	list->except = *text == '^';
	text += list->except;
	list->exact = *text == '=';
	text += list->exact;
	/* Up to 2.29, parseStringList() skipped another "^". */
	text += minor < 30 && *text == '^';
	entries = g_strsplit(text, ",", -1);
	for (guint i = 0; entries[i] && list->n < nccl_port_limit(minor); i++)
		hca_entry_parse(list, entries[i], minor);
}

static gboolean hca_list_has(const HcaList *list, const char *name, guint port)
{
	for (guint i = 0; i < list->n; i++) {
		const HcaEntry *entry = &list->entries[i];

		if ((list->exact ? g_str_equal(name, entry->name)
				 : g_str_has_prefix(name, entry->name)) &&
		    (entry->port == -1 || (guint)entry->port == port))
			return TRUE;
	}
	/* A list without entries matches all, so that "^" alone matches none. */
	return list->n == 0;
}

/* ---- GID selection ---- */

typedef struct {
	int family;
	gint64 version;
	int length;	 /* of the range; negative: matches nothing */
	guint8 base[16]; /* from inet_pton() */
	gboolean crashes;
} GidWish;

/* NCCL treats an invalid range as one that matches all. */
static void wish_range_parse(GidWish *wish, const char *text, guint minor)
{
	g_autofree char *address = NULL;
	const char *slash;
	long length;

	if (!text || !text[0])
		return;
	slash = strchr(text, '/');
	if (!slash) {
		wish->crashes = minor <= 22;
		return;
	}
	address = g_strndup(text, slash - text);
	if (inet_pton(wish->family, address, wish->base) != 1)
		return;
	length = strtol(slash + 1, NULL, 10);
	wish->length = length > (wish->family == AF_INET ? 32 : 128) ? 0 : (int)length;
}

static GidWish gid_wish(const NcclEnv *env, guint minor)
{
	GidWish wish = { .family = AF_INET };

	if (g_strcmp0(nccl_env_get(env, "NCCL_IB_ADDR_FAMILY"), "AF_INET6") == 0)
		wish.family = AF_INET6;
	wish.version = env_number(env, "NCCL_IB_ROCE_VERSION_NUM", 2, minor);
	wish_range_parse(&wish, nccl_env_get(env, "NCCL_IB_ADDR_RANGE"), minor);
	return wish;
}

static gboolean wish_has(const GidWish *wish, const guint8 raw[16])
{
	/* NCCL compares the last 32 bits for IPv4. */
	const guint8 *address = wish->family == AF_INET ? raw + 12 : raw;
	const guint bytes = MAX(wish->length, 0) / 8, rest = MAX(wish->length, 0) % 8;

	return wish->length >= 0 && !memcmp(wish->base, address, bytes) &&
	       (!rest || !((wish->base[bytes] ^ address[bytes]) >> (8 - rest)));
}

static const guint8 HOLE[16];

static const guint8 *gid_raw(const RdmadGid *gid)
{
	return gid ? gid->raw : HOLE;
}

/* Returns 0 if the type is unreadable, like that of an empty entry. */
static gint64 gid_version(const RdmadGid *gid)
{
	if (!gid || gid->type == RDMAD_GID_UNKNOWN)
		return 0;
	return gid->type == RDMAD_GID_ROCE_V2 ? 2 : 1;
}

static gboolean gid_valid(const RdmadGid *gid)
{
	return gid && !nccl_gid_is_hole(gid->raw) && !nccl_gid_is_link_local(gid->raw);
}

typedef enum { STEP_STAY, STEP_TAKE, STEP_CHANCE, STEP_FAIL } Step;

static Step gid_step(const GidWish *wish, const RdmadGid *now, const RdmadGid *next, guint minor)
{
	const int family = nccl_gid_family(gid_raw(next));

	if (family != wish->family || !wish_has(wish, gid_raw(next)))
		return STEP_STAY;
	/* NCCL checks nothing else when the family changes. */
	if (nccl_gid_family(gid_raw(now)) != family)
		return STEP_TAKE;
	if (!gid_valid(next))
		return STEP_STAY;
	if (minor <= 25 && (!gid_version(now) || !gid_version(next)))
		return STEP_FAIL;
	if (gid_version(next) != wish->version)
		return STEP_STAY;
	if (!gid_valid(now))
		return STEP_TAKE;
	if (!gid_version(now))
		return STEP_CHANCE;
	return gid_version(now) != gid_version(next) ? STEP_TAKE : STEP_STAY;
}

static const RdmadGid *port_gid(const RdmadPort *port, guint index)
{
	for (guint i = 0; i < port->n_gids && port->gids[i].index <= index; i++)
		if (port->gids[i].index == index)
			return &port->gids[i];
	return NULL;
}

/*
 * Walks the table, including empty entries up to the last used one: those after it could change the
 * outcome only for AF_INET6 without a range, which no plan sets.
 */
static NcclPick gid_select(const RdmadPort *port, const GidWish *wish, guint minor)
{
	const guint end = port->n_gids ? port->gids[port->n_gids - 1].index : 0;
	NcclPick pick = { NCCL_PICK_GID, 0, port_gid(port, 0) };
	guint k = pick.gid ? 1 : 0;

	for (guint index = 1; index <= end; index++) {
		const RdmadGid *next =
			k < port->n_gids && port->gids[k].index == index ? &port->gids[k++] : NULL;

		switch (gid_step(wish, pick.gid, next, minor)) {
		case STEP_STAY:
			break;
		case STEP_TAKE:
			pick.index = index;
			pick.gid = next;
			break;
		case STEP_CHANCE:
			return (NcclPick){ .kind = NCCL_PICK_CHANCE };
		case STEP_FAIL:
			return (NcclPick){ .kind = NCCL_PICK_FAILS };
		}
	}
	return pick;
}

static NcclPick pick_index(const RdmadPort *port, gint64 index)
{
	const guint reached = index & QP_INDEX_MASK;

	return (NcclPick){ NCCL_PICK_GID, reached, port_gid(port, reached) };
}

static gboolean index_is_outside(const RdmadPort *port, gint64 index)
{
	return port->n_gids == 0 || index > port->gids[port->n_gids - 1].index;
}

/* Up to 2.20, the accepting side queries the index on InfiniBand too. */
static NcclPick pick_infiniband(const RdmadPort *port, const NcclEnv *env, guint minor)
{
	const gint64 index = env_number(env, "NCCL_IB_GID_INDEX", 0, minor);

	if (minor <= 20 && index != 0 && (index < 0 || index_is_outside(port, index)))
		return (NcclPick){ .kind = NCCL_PICK_FAILS };
	return (NcclPick){ .kind = NCCL_PICK_NONE };
}

NcclPick nccl_simulate_gid(const RdmadPort *port, const NcclEnv *env, guint minor)
{
	gint64 index;
	GidWish wish;

	if (port->link_layer == RDMAD_LINK_LAYER_INFINIBAND)
		return pick_infiniband(port, env, minor);
	index = env_number(env, "NCCL_IB_GID_INDEX", minor >= 21 ? -1 : 0, minor);
	if (index < 0 && minor <= 20)
		return (NcclPick){ .kind = NCCL_PICK_FAILS };
	if (index >= 0 && minor >= 31 && index_is_outside(port, index))
		return (NcclPick){ .kind = NCCL_PICK_FAILS };
	if (index >= 0)
		return pick_index(port, index);
	wish = gid_wish(env, minor);
	if (wish.crashes)
		return (NcclPick){ .kind = NCCL_PICK_CRASHES };
	return gid_select(port, &wish, minor);
}

/* ---- ports ---- */

static gboolean port_counts(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE &&
	       (port->link_layer == RDMAD_LINK_LAYER_INFINIBAND ||
		port->link_layer == RDMAD_LINK_LAYER_ETHERNET);
}

/* 2.20 to 2.23 compare the PCI paths of devices to merge them, without a check for NULL. */
static gboolean merge_crashes(const GArray *outcomes, const NcclEnv *env, guint minor)
{
	guint without_path = 0;

	if (minor < 20 || minor > 23 || env_number(env, "NCCL_IB_MERGE_NICS", 1, minor) == 0)
		return FALSE;
	for (guint i = 0; i < outcomes->len; i++)
		without_path += !g_array_index(outcomes, NcclOutcome, i).device->pci_address;
	return without_path > 0 && outcomes->len > 1;
}

static void simulate_device(GArray *outcomes, const RdmadDevice *device, const HcaList *list,
			    const NcclEnv *env, guint minor)
{
	for (guint i = 0; i < device->n_ports; i++) {
		const RdmadPort *port = &device->ports[i];
		NcclOutcome outcome = { .device = device, .port = port };

		if (!port_counts(port) ||
		    hca_list_has(list, device->name, port->number) == list->except)
			continue;
		outcome.pick = nccl_simulate_gid(port, env, minor);
		g_array_append_val(outcomes, outcome);
	}
}

GArray *nccl_simulate(const NcclView *view, const NcclEnv *env, guint minor)
{
	GArray *outcomes = g_array_new(FALSE, FALSE, sizeof(NcclOutcome));
	HcaList list;

	hca_list_parse(&list, nccl_env_get(env, "NCCL_IB_HCA"), minor);
	/* NCCL checks the limit before each device, so the last one may exceed it. */
	for (guint i = 0; i < view->devices->len && outcomes->len < nccl_port_limit(minor); i++) {
		const NcclViewDevice *entry = nccl_view_device(view, i);

		if (entry->granted)
			simulate_device(outcomes, entry->device, &list, env, minor);
	}
	if (merge_crashes(outcomes, env, minor))
		for (guint i = 0; i < outcomes->len; i++)
			g_array_index(outcomes, NcclOutcome, i).pick.kind = NCCL_PICK_CRASHES;
	return outcomes;
}
