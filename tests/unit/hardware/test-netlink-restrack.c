/* SPDX-License-Identifier: Apache-2.0 */
#include <rdma/rdma_netlink.h>

#include "hardware/netlink/restrack.h"
#include "netlink-message.h"
#include "../support/unit.h"

#define TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_##command)

static gsize queue_pairs_begin(Message *msg)
{
	message_init(msg, TYPE(RES_QP_GET), NULL, 0);
	message_add_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	message_add_text(msg, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	return message_begin(msg, RDMA_NLDEV_ATTR_RES_QP);
}

/* `pid` 0: of the kernel, by `name`; without a name, of an ended process. */
static void add_queue_pair(Message *msg, guint32 pid, const char *name)
{
	const gsize entry = message_begin(msg, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	message_add_u32(msg, RDMA_NLDEV_ATTR_RES_LQPN, 17);
	if (pid)
		message_add_u32(msg, RDMA_NLDEV_ATTR_RES_PID, pid);
	else if (name)
		message_add_text(msg, RDMA_NLDEV_ATTR_RES_KERN_NAME, name);
	message_end(msg, entry);
}

static const RdmadRestrackUser *user_of(const GArray *users, guint pid)
{
	for (guint i = 0; i < users->len; i++)
		if (g_array_index(users, RdmadRestrackUser, i).pid == pid)
			return &g_array_index(users, RdmadRestrackUser, i);
	return NULL;
}

static void test_objects_are_counted_by_process(void)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = NULL;
	Message msg;
	gsize table = queue_pairs_begin(&msg);

	add_queue_pair(&msg, 700, NULL);
	add_queue_pair(&msg, 30, NULL);
	add_queue_pair(&msg, 0, "ib_core");
	add_queue_pair(&msg, 700, NULL);
	add_queue_pair(&msg, 0, NULL);
	message_end(&msg, table);
	rdmad_restrack_parse(restrack, RDMAD_USES_QP, &msg.hdr);
	rdmad_restrack_parse(restrack, RDMAD_USES_QP, &msg.hdr);
	/* Another kind. */
	rdmad_restrack_parse(restrack, RDMAD_USES_CQ, &msg.hdr);

	users = rdmad_restrack_take_users(restrack);
	g_assert_cmpuint(users->len, ==, 3);
	g_assert_cmpuint(g_array_index(users, RdmadRestrackUser, 0).pid, ==, 0);
	g_assert_cmpuint(g_array_index(users, RdmadRestrackUser, 1).pid, ==, 30);
	g_assert_cmpuint(user_of(users, 0)->objects[RDMAD_USES_QP], ==, 4);
	g_assert_cmpuint(user_of(users, 30)->objects[RDMAD_USES_QP], ==, 2);
	g_assert_cmpuint(user_of(users, 700)->objects[RDMAD_USES_QP], ==, 4);
	g_assert_cmpuint(user_of(users, 700)->objects[RDMAD_USES_CQ], ==, 0);
}

static void test_who_has_nothing_is_no_user(void)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = rdmad_restrack_take_users(restrack);

	g_assert_cmpuint(users->len, ==, 0);
}

/* Their objects are counted with those of pid 0. */
static void test_processes_beyond_the_bound_are_counted_together(void)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = NULL;

	for (guint pid = 1; pid <= RDMAD_RESTRACK_PIDS_MAX + 10; pid++) {
		Message msg;
		gsize table = queue_pairs_begin(&msg);

		add_queue_pair(&msg, pid, NULL);
		message_end(&msg, table);
		rdmad_restrack_parse(restrack, RDMAD_USES_QP, &msg.hdr);
	}
	users = rdmad_restrack_take_users(restrack);
	g_assert_cmpuint(users->len, ==, RDMAD_RESTRACK_PIDS_MAX + 1);
	g_assert_cmpuint(user_of(users, 0)->objects[RDMAD_USES_QP], ==, 10);
	g_assert_cmpuint(user_of(users, 1)->objects[RDMAD_USES_QP], ==, 1);
	g_assert_null(user_of(users, RDMAD_RESTRACK_PIDS_MAX + 1));
}

/* A number that is too large becomes the maximum. */
static void test_what_is_not_listed_is_of_nobody(void)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = NULL;

	rdmad_restrack_set_unlisted(restrack, RDMAD_USES_CTX, 7);
	rdmad_restrack_set_unlisted(restrack, RDMAD_USES_SRQ, 7);
	rdmad_restrack_set_unlisted(restrack, RDMAD_USES_SRQ, G_MAXUINT64);
	users = rdmad_restrack_take_users(restrack);
	g_assert_cmpuint(users->len, ==, 1);
	g_assert_cmpuint(user_of(users, 0)->objects[RDMAD_USES_CTX], ==, 7);
	g_assert_cmpuint(user_of(users, 0)->objects[RDMAD_USES_SRQ], ==, G_MAXUINT);
}

static void add_total(Message *msg, const char *name, guint64 total)
{
	const gsize entry = message_begin(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	message_add_text(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
	message_add_u64(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, total);
	message_end(msg, entry);
}

static void test_the_summary_has_a_total_of_each_kind(void)
{
	guint64 totals[RDMAD_USES_KINDS] = { 0 };
	Message msg;
	gsize table;

	message_init(&msg, TYPE(RES_GET), NULL, 0);
	table = message_begin(&msg, RDMA_NLDEV_ATTR_RES_SUMMARY);
	add_total(&msg, "qp", 12);
	add_total(&msg, "dmah", 5); /* of a later kernel */
	add_total(&msg, "cm_id", G_MAXUINT32 + 1ull);
	message_end(&msg, table);
	rdmad_restrack_parse_summary(&msg.hdr, totals);
	g_assert_cmpuint(totals[RDMAD_USES_QP], ==, 12);
	g_assert_cmpuint(totals[RDMAD_USES_CM_ID], ==, G_MAXUINT32 + 1ull);
	g_assert_cmpuint(totals[RDMAD_USES_MR], ==, 0);
}

/* Each makes a valid message invalid. */
static void spoil_type(Message *msg)
{
	msg->hdr.nlmsg_type = TYPE(RES_CQ_GET);
}

static void spoil_short(Message *msg)
{
	msg->hdr.nlmsg_len = NLMSG_HDRLEN + 6;
}

static void spoil_empty(Message *msg)
{
	message_end(msg, queue_pairs_begin(msg));
}

static void spoil_entry_type(Message *msg)
{
	gsize table = queue_pairs_begin(msg);

	message_add_u32(msg, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, 1);
	message_end(msg, table);
}

static void test_malformed_messages_count_nothing(void)
{
	static void (*const spoils[])(Message *) = { spoil_type, spoil_short, spoil_empty,
						     spoil_entry_type };

	for (gsize i = 0; i < G_N_ELEMENTS(spoils); i++) {
		g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
		g_autoptr(GArray) users = NULL;
		guint64 totals[RDMAD_USES_KINDS] = { 0 };
		Message msg;
		gsize table = queue_pairs_begin(&msg);

		add_queue_pair(&msg, 700, NULL);
		message_end(&msg, table);
		spoils[i](&msg);
		rdmad_restrack_parse(restrack, RDMAD_USES_QP, &msg.hdr);
		rdmad_restrack_parse_summary(&msg.hdr, totals);
		users = rdmad_restrack_take_users(restrack);
		g_assert_cmpuint(users->len, ==, 0);
		g_assert_cmpuint(totals[RDMAD_USES_QP], ==, 0);
	}
}

/* A pid of the wrong size is unknown, but the object is counted. */
static void test_an_invalid_owner_is_unknown(void)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = NULL;
	Message msg;
	gsize table = queue_pairs_begin(&msg), entry;

	entry = message_begin(&msg, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	message_add_u8(&msg, RDMA_NLDEV_ATTR_RES_PID, 7);
	message_end(&msg, entry);
	message_end(&msg, table);
	rdmad_restrack_parse(restrack, RDMAD_USES_QP, &msg.hdr);
	users = rdmad_restrack_take_users(restrack);
	g_assert_cmpuint(users->len, ==, 1);
	g_assert_cmpuint(user_of(users, 0)->objects[RDMAD_USES_QP], ==, 1);
}

#define TEST(name) UNIT_TEST("/netlink-restrack/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(objects_are_counted_by_process),
	TEST(who_has_nothing_is_no_user),
	TEST(processes_beyond_the_bound_are_counted_together),
	TEST(what_is_not_listed_is_of_nobody),
	TEST(the_summary_has_a_total_of_each_kind),
	TEST(malformed_messages_count_nothing),
	TEST(an_invalid_owner_is_unknown),
	{ 0 },
};
