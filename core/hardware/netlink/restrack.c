/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/restrack.h"

#include <netlink/msg.h>
#include <string.h>

#include "hardware/netlink/nldev.h"

/* The kernel's name of each kind, and the command that lists it. */
static const struct {
	const char *name;
	int command;
	int table, entry;
} kinds[RDMAD_USES_KINDS] = {
	[RDMAD_USES_QP] = { "qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
			    RDMA_NLDEV_ATTR_RES_QP_ENTRY },
	[RDMAD_USES_CQ] = { "cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
			    RDMA_NLDEV_ATTR_RES_CQ_ENTRY },
	[RDMAD_USES_MR] = { "mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
			    RDMA_NLDEV_ATTR_RES_MR_ENTRY },
	[RDMAD_USES_CM_ID] = { "cm_id", RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID,
			       RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY },
	[RDMAD_USES_PD] = { "pd", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
			    RDMA_NLDEV_ATTR_RES_PD_ENTRY },
	[RDMAD_USES_SRQ] = { "srq", RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
			     RDMA_NLDEV_ATTR_RES_SRQ_ENTRY },
	[RDMAD_USES_CTX] = { "ctx", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
			     RDMA_NLDEV_ATTR_RES_CTX_ENTRY },
};

struct RdmadRestrack {
	GArray *users;	    /* RdmadRestrackUser; the first has pid 0 */
	GHashTable *places; /* pid -> its index in `users` */
};

static GArray *users_new(void)
{
	return g_array_set_size(g_array_new(FALSE, TRUE, sizeof(RdmadRestrackUser)), 1);
}

RdmadRestrack *rdmad_restrack_new(void)
{
	RdmadRestrack *restrack = g_new0(RdmadRestrack, 1);

	restrack->users = users_new();
	restrack->places = g_hash_table_new(NULL, NULL);
	return restrack;
}

void rdmad_restrack_free(RdmadRestrack *restrack)
{
	g_array_unref(restrack->users);
	g_hash_table_unref(restrack->places);
	g_free(restrack);
}

static guint restrack_place(RdmadRestrack *restrack, guint pid)
{
	/* An unknown pid yields 0, which is also the place of pid 0. */
	guint place =
		GPOINTER_TO_UINT(g_hash_table_lookup(restrack->places, GUINT_TO_POINTER(pid)));

	if (pid == 0 || place > 0 || restrack->users->len > RDMAD_RESTRACK_PIDS_MAX)
		return place;
	place = restrack->users->len;
	g_array_set_size(restrack->users, place + 1);
	g_array_index(restrack->users, RdmadRestrackUser, place).pid = pid;
	g_hash_table_insert(restrack->places, GUINT_TO_POINTER(pid), GUINT_TO_POINTER(place));
	return place;
}

static void restrack_count(RdmadRestrack *restrack, RdmadUses kind, struct nlattr *entry)
{
	struct nlattr *pid = nla_find(nla_data(entry), nla_len(entry), RDMA_NLDEV_ATTR_RES_PID);
	const gboolean known = pid && nla_len(pid) == sizeof(guint32);
	const guint place = restrack_place(restrack, known ? nla_get_u32(pid) : 0);

	g_array_index(restrack->users, RdmadRestrackUser, place).objects[kind]++;
}

static void forget_kind(RdmadRestrack *restrack, RdmadUses kind)
{
	GArray *users = restrack->users;

	for (guint i = 0; i < users->len; i++)
		g_array_index(users, RdmadRestrackUser, i).objects[kind] = 0;
}

void rdmad_restrack_set_unlisted(RdmadRestrack *restrack, RdmadUses kind, guint64 total)
{
	forget_kind(restrack, kind);
	g_array_index(restrack->users, RdmadRestrackUser, 0).objects[kind] =
		(guint)MIN(total, G_MAXUINT);
}

static struct nlattr *find_table(const struct nlmsghdr *msg, int command, int table)
{
	if (msg->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))
		return NULL;
	return nlmsg_find_attr((struct nlmsghdr *)msg, 0, table);
}

void rdmad_restrack_parse(RdmadRestrack *restrack, RdmadUses kind, const struct nlmsghdr *msg)
{
	struct nlattr *table = find_table(msg, kinds[kind].command, kinds[kind].table);
	struct nlattr *entry;
	int left;

	if (!table)
		return;
	nla_for_each_nested(entry, table, left) if (nla_type(entry) == kinds[kind].entry)
		restrack_count(restrack, kind, entry);
}

static void summary_entry(struct nlattr *entry, guint64 *totals)
{
	struct nlattr *name =
		nla_find(nla_data(entry), nla_len(entry), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
	struct nlattr *total =
		nla_find(nla_data(entry), nla_len(entry), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);

	if (!name || !total || nla_len(total) != sizeof(guint64))
		return;
	for (guint i = 0; i < RDMAD_USES_KINDS; i++)
		if (nla_strcmp(name, kinds[i].name) == 0)
			totals[i] = nla_get_u64(total);
}

void rdmad_restrack_parse_summary(const struct nlmsghdr *msg, guint64 totals[RDMAD_USES_KINDS])
{
	struct nlattr *table = find_table(msg, RDMA_NLDEV_CMD_RES_GET, RDMA_NLDEV_ATTR_RES_SUMMARY);
	struct nlattr *entry;
	int left;

	if (!table)
		return;
	nla_for_each_nested(entry, table,
			    left) if (nla_type(entry) == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)
		summary_entry(entry, totals);
}

static int compare_users(gconstpointer a, gconstpointer b)
{
	const guint pid_a = ((const RdmadRestrackUser *)a)->pid;
	const guint pid_b = ((const RdmadRestrackUser *)b)->pid;

	return pid_a < pid_b ? -1 : pid_a > pid_b;
}

static gboolean has_objects(const RdmadRestrackUser *user)
{
	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
		if (user->objects[kind] > 0)
			return TRUE;
	return FALSE;
}

GArray *rdmad_restrack_take_users(RdmadRestrack *restrack)
{
	GArray *users = restrack->users;

	restrack->users = users_new();
	g_hash_table_remove_all(restrack->places);
	for (guint i = users->len; i > 0; i--)
		if (!has_objects(&g_array_index(users, RdmadRestrackUser, i - 1)))
			g_array_remove_index_fast(users, i - 1);
	g_array_sort(users, compare_users);
	return users;
}

static struct nl_msg *request_new(int command, int flags, guint device)
{
	struct nl_msg *msg = rdmad_nldev_request(command, flags);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	return msg;
}

static gboolean summary_each(const struct nlmsghdr *msg, gpointer data)
{
	rdmad_restrack_parse_summary(msg, data);
	return TRUE;
}

static void summary_restart(gpointer data)
{
	memset(data, 0, RDMAD_USES_KINDS * sizeof(guint64));
}

gboolean rdmad_restrack_get_summary(RdmadNetlink *nl, guint device,
				    guint64 totals[RDMAD_USES_KINDS], GError **error)
{
	return rdmad_netlink_ask_each(nl, request_new(RDMA_NLDEV_CMD_RES_GET, 0, device),
				      summary_each, summary_restart, totals, error);
}

typedef struct {
	RdmadRestrack *restrack;
	RdmadUses kind;
	RdmadRestrackStop stop;
	gpointer data;
} Dump;

static gboolean dump_each(const struct nlmsghdr *msg, gpointer data)
{
	const Dump *dump = data;

	if (dump->stop(dump->data))
		return FALSE;
	rdmad_restrack_parse(dump->restrack, dump->kind, msg);
	return TRUE;
}

static void dump_restart(gpointer data)
{
	const Dump *dump = data;

	forget_kind(dump->restrack, dump->kind);
}

gboolean rdmad_restrack_get(RdmadNetlink *nl, guint device, RdmadUses kind, RdmadRestrack *restrack,
			    RdmadRestrackStop stop, gpointer data, GError **error)
{
	Dump dump = { restrack, kind, stop, data };

	return rdmad_netlink_ask_each(nl, request_new(kinds[kind].command, NLM_F_DUMP, device),
				      dump_each, dump_restart, &dump, error);
}
