/* SPDX-License-Identifier: Apache-2.0 */
/* Uses this kernel's rtnetlink, which needs no privileges */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <rdmad/error.h>

#include "hardware/netlink/socket.h"
#include "../support/unit.h"

typedef struct {
	guint messages, restarts;
	guint max;
} Seen;

static gboolean count(const struct nlmsghdr *msg, gpointer data)
{
	Seen *seen = data;

	return ++seen->messages <= seen->max;
}

static void restart(gpointer data)
{
	Seen *seen = data;

	seen->messages = 0;
	seen->restarts++;
}

static struct nl_msg *request(int type, int flags, int ifindex)
{
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);

	g_assert_cmpint(nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO), >=, 0);
	return msg;
}

static RdmadNetlink *open_route(void)
{
	g_autoptr(GError) error = NULL;
	RdmadNetlink *nl = rdmad_netlink_open(NETLINK_ROUTE, &error);

	g_assert_no_error(error);
	return nl;
}

static gboolean ask_all(RdmadNetlink *nl, Seen *seen, GError **error)
{
	return rdmad_netlink_ask_each(nl, request(RTM_GETADDR, NLM_F_DUMP, 0), count, restart, seen,
				      error);
}

static void test_each_message_is_seen_once(void)
{
	g_autoptr(RdmadNetlink) nl = open_route();
	g_autoptr(GError) error = NULL;
	Seen seen = { .max = G_MAXUINT };

	g_assert_true(ask_all(nl, &seen, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(seen.restarts, >=, 1);
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, 0);
}

/* The rest of the first response must not be taken for the second one. */
static void test_after_an_answer_that_was_too_long_the_next_is_whole(void)
{
	g_autoptr(RdmadNetlink) nl = open_route();
	Seen all = { .max = G_MAXUINT }, few = { .max = 0 };

	g_assert_true(ask_all(nl, &all, NULL));
	if (all.messages == 0) {
		g_test_skip("no interface here has an address");
		return;
	}
	for (guint i = 0; i < 3; i++) {
		g_autoptr(GError) error = NULL;
		Seen again = { .max = G_MAXUINT };

		g_assert_false(ask_all(nl, &few, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
		g_assert_cmpint(rdmad_netlink_errnum(nl), ==, E2BIG);
		g_clear_error(&error);
		ask_all(nl, &again, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(again.messages, ==, all.messages);
	}
}

static void test_the_kernel_s_errno_is_kept(void)
{
	g_autoptr(RdmadNetlink) nl = open_route();
	g_autoptr(GError) error = NULL;
	Seen seen = { .max = G_MAXUINT };

	g_assert_false(rdmad_netlink_ask_each(nl, request(RTM_GETLINK, NLM_F_ACK, 999999), count,
					      restart, &seen, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, ENODEV);
	/* The response was complete, so the socket can be used again. */
	g_assert_false(rdmad_netlink_stale(nl));
	g_assert_true(ask_all(nl, &seen, NULL));
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, 0);
}

/* Larger than the kernel accepts at once. */
static struct nl_msg *huge_request(void)
{
	struct nl_msg *msg = nlmsg_alloc_size(1 << 20);

	g_assert_nonnull(nlmsg_put(msg, 0, 0, RTM_GETADDR, 1 << 19, NLM_F_DUMP));
	return msg;
}

static void test_a_question_that_is_not_sent_has_a_failure_of_its_own(void)
{
	g_autoptr(RdmadNetlink) nl = open_route();
	g_autoptr(GError) error = NULL;
	Seen none = { .max = 0 };

	ask_all(nl, &none, NULL);
	g_assert_false(rdmad_netlink_ask_each(nl, huge_request(), count, restart, &none, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, EIO);
	none.max = G_MAXUINT;
	g_assert_true(ask_all(nl, &none, NULL));
}

#define TEST(name) UNIT_TEST("/netlink-socket/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(each_message_is_seen_once),
	TEST(after_an_answer_that_was_too_long_the_next_is_whole),
	TEST(the_kernel_s_errno_is_kept),
	TEST(a_question_that_is_not_sent_has_a_failure_of_its_own),
	{ 0 },
};
