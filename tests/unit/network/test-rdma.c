/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hardware/netlink/rdma.h"
#include "pod.h"

static void test_a_device_that_is_not_there_is_not_moved(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_false(rdmad_rdma_move(0, "mlx5_99", f->pod, &error));
	g_assert_nonnull(error);
	g_assert_true(g_str_has_prefix(error->message, "cannot move RDMA device mlx5_99: "));
	g_clear_error(&error);
	g_assert_false(rdmad_rdma_move(f->pod, "mlx5_99", 0, &error));
	g_assert_nonnull(error);
}

/* A real device, as in the lab; in shared mode, every namespace shows it. */
static void test_a_device_that_cannot_move_stays_with_the_reason(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_RDMA, NULL);
	g_autoptr(GPtrArray) devices = nl ? rdmad_nldev_get_devices(nl, NULL) : NULL;
	g_autoptr(GPtrArray) after = NULL;
	g_autoptr(GError) error = NULL;
	const RdmadNldevDevice *device;

	if (!f->ready || !devices || devices->len == 0) {
		g_test_skip("no RDMA device");
		return;
	}
	device = devices->pdata[0];
	g_assert_cmpstr(rdmad_rdma_netns_mode(NULL), ==, "shared");
	g_assert_false(rdmad_rdma_move(0, device->name, f->pod, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "not supported"));
	after = rdmad_nldev_get_devices(nl, NULL);
	g_assert_cmpuint(after->len, ==, devices->len);
}

#define TEST(name) TEST_WITH_POD("rdma", name)

const UnitTest unit_tests[] = {
	TEST(a_device_that_is_not_there_is_not_moved),
	TEST(a_device_that_cannot_move_stays_with_the_reason),
	{ 0 },
};
