/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/rtnetlink.h>

#include "network/network-private.h"
#include "pod.h"

static gboolean take_no_more(const struct nlmsghdr *msg, gpointer data)
{
	return FALSE;
}

static void test_a_socket_that_is_opened_again_is_where_it_was(Fixture *f, gconstpointer data)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadLink) link = NULL;

	if (!f->ready)
		return;
	expect_created(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "only-here" });
	/* The rest of this response is never read, so the socket cannot be used again. */
	g_assert_null(network_read(f->pod_net, NETWORK_REQUEST(RTM_GETLINK, NLM_F_DUMP, info),
				   take_no_more, NULL, g_ptr_array_new(), &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	link = expect_link(f->pod_net, "only-here");
	expect_no_link(f->pod_net, "nic0");
}

#define TEST(name) TEST_WITH_POD("network", name)

const UnitTest unit_tests[] = {
	TEST(a_socket_that_is_opened_again_is_where_it_was),
	{ 0 },
};
