/* SPDX-License-Identifier: Apache-2.0 */
#include "exposition-check.h"
#include "hardware/device.h"
#include "render/parts.h"
#include "service/allocations-fixture.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/stats-private.h"
#include "service/pod-list-text.h"
#include "../support/unit.h"

static void assert_text(FamilySet *set, const char *expected)
{
	gsize size;
	g_autofree char *text = family_set_print(set, EXPOSITION_TEXT, &size);
	g_autofree char *open = NULL;

	exposition_check(text, size, EXPOSITION_TEXT);
	open = family_set_print(set, EXPOSITION_OPENMETRICS, &size);
	exposition_check(open, size, EXPOSITION_OPENMETRICS);
	if (expected)
		g_assert_cmpstr(text, ==, expected);
}

/* ---- allocations ---- */

static RdmadInventory *inventory_of_one(AllocationsFixture *f)
{
	RdmadInventory *inventory = rdmad_inventory_new(f->loop, f->event_log);
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	GPtrArray *gpus = g_ptr_array_new();

	g_ptr_array_add(devices, rdmad_device_new("dev-a", "mlx5_0"));
	rdmad_inventory_replace(inventory, devices, gpus);
	return inventory;
}

static void allocations_name(AllocationsFixture *f, const char *pods)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack(pods);
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(data, size, NULL);

	list->asked_us = g_get_monotonic_time();
	list->kubelet_since_us = 1;
	rdmad_allocations_reconcile(f->allocations, list);
}

/* "b" is an absent device, "c" an unknown pod. */
static void test_allocations_with_a_pod_and_a_device_are_exposed(AllocationsFixture *f,
								 gconstpointer data)
{
	RdmadInventory *inventory = inventory_of_one(f);
	g_autoptr(FamilySet) set = family_set_new();
	g_autofree char *one G_GNUC_UNUSED = allocations_fixture_must_grant(f, "a");
	g_autofree char *other G_GNUC_UNUSED = allocations_fixture_must_grant(f, "b");
	g_autofree char *unnamed G_GNUC_UNUSED = allocations_fixture_must_grant(f, "c");

	allocations_name(f, "trainer=a trainer=b");
	render_allocations(set, f->allocations, inventory);
	assert_text(set, "# HELP rdma_pod_device_info Devices of containers.\n"
			 "# TYPE rdma_pod_device_info gauge\n"
			 "rdma_pod_device_info{namespace=\"ns\",pod=\"trainer\",container=\"main\","
			 "device=\"mlx5_0\",resource=\"rdma/hca\"} 1\n");
	rdmad_inventory_free(inventory);
}

static void test_two_allocations_of_one_container_are_one_series(AllocationsFixture *f,
								 gconstpointer data)
{
	static const char *const devices[] = { "dev-a", "dev-a", NULL };
	static const char *const slots[] = { "a@0", "a@1", NULL };
	const RdmadGrant grant = { "test", "rdma/hca", slots, devices };
	RdmadInventory *inventory = inventory_of_one(f);
	g_autoptr(FamilySet) set = family_set_new();
	g_autoptr(RdmadAllocationRef) allocation =
		rdmad_allocations_grant(f->allocations, &grant, NULL);

	g_assert_nonnull(allocation);
	allocations_name(f, "trainer=a@0,a@1");
	render_allocations(set, f->allocations, inventory);
	g_assert_cmpuint(family_set_series(set), ==, 1);
	assert_text(set, NULL);
	rdmad_inventory_free(inventory);
}

/* ---- the node ---- */

static void test_the_mode_of_network_namespaces(AllocationsFixture *f, gconstpointer data)
{
	RdmadAttributes *attributes = rdmad_attributes_new(f->loop);
	g_autoptr(FamilySet) set = family_set_new();

	render_node(set, attributes);
	g_assert_cmpuint(family_set_series(set), ==, 0);
	g_assert_true(rdmad_attributes_set(attributes, NULL, "node:netns-mode", "exclusive", NULL));
	render_node(set, attributes);
	assert_text(set, "# HELP rdma_netns_mode 1 for the network namespace mode of "
			 "RDMA devices, 0 for the other.\n# TYPE rdma_netns_mode gauge\n"
			 "rdma_netns_mode{mode=\"shared\"} 0\n"
			 "rdma_netns_mode{mode=\"exclusive\"} 1\n");
	rdmad_attributes_free(attributes);
}

/* ---- rdmad itself ---- */

static const double BOUNDS[] = { 0.5, 2, 0 };
static const RdmadStatClass CALLS = {
	RDMAD_STAT_COUNTER, "rdmad_calls", NULL, "Calls.", { "method" }
};
static const RdmadStatClass BUILD = {
	RDMAD_STAT_GAUGE, "rdmad_build_info", NULL, "Build.", { "version" }
};
static const RdmadStatClass TIMES = {
	RDMAD_STAT_HISTOGRAM, "rdmad_time_seconds", "seconds", "Times.", { NULL }, BOUNDS
};
static const RdmadStatClass SIZE = {
	RDMAD_STAT_GAUGE, "rdmad_size_bytes", "bytes", "Size.", { NULL }
};

static RdmadStat *stat_add(RdmadStats *stats, const RdmadStatClass *klass)
{
	g_autoptr(GError) error = NULL;
	RdmadStat *stat = rdmad_stats_add(stats, NULL, klass, NULL, &error);

	g_assert_no_error(error);
	return stat;
}

static void test_stats(void)
{
	static const char *const odd[] = { "a\"b\n", NULL };
	static const char *const version[] = { "0.1", NULL };
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(FamilySet) set = family_set_new();
	RdmadStat *times = stat_add(stats, &TIMES);

	rdmad_stat_add(stat_add(stats, &CALLS), 3, odd);
	rdmad_stat_set(stat_add(stats, &BUILD), 1, version);
	rdmad_stat_set(stat_add(stats, &SIZE), -1.5, NULL);
	rdmad_stat_observe(times, 0.25, NULL);
	rdmad_stat_observe(times, 1, NULL);
	render_stats(set, stats);
	assert_text(set, "# HELP rdmad_build_info Build.\n# TYPE rdmad_build_info gauge\n"
			 "rdmad_build_info{version=\"0.1\"} 1\n"
			 "# HELP rdmad_calls_total Calls.\n# TYPE rdmad_calls_total counter\n"
			 "rdmad_calls_total{method=\"a\\\"b\\n\"} 3\n"
			 "# HELP rdmad_size_bytes Size.\n# TYPE rdmad_size_bytes gauge\n"
			 "rdmad_size_bytes -1.5\n"
			 "# HELP rdmad_time_seconds Times.\n# TYPE rdmad_time_seconds histogram\n"
			 "rdmad_time_seconds_bucket{le=\"0.5\"} 1\n"
			 "rdmad_time_seconds_bucket{le=\"2.0\"} 2\n"
			 "rdmad_time_seconds_bucket{le=\"+Inf\"} 2\n"
			 "rdmad_time_seconds_sum 1.25\nrdmad_time_seconds_count 2\n");
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/allocations that have a pod and a device are told", AllocationsFixture,
			  NULL, allocations_fixture_setup,
			  test_allocations_with_a_pod_and_a_device_are_exposed,
			  allocations_fixture_teardown),
	UNIT_FIXTURE_TEST("/two allocations of one container are one series", AllocationsFixture,
			  NULL, allocations_fixture_setup,
			  test_two_allocations_of_one_container_are_one_series,
			  allocations_fixture_teardown),
	UNIT_FIXTURE_TEST("/the mode of network namespaces", AllocationsFixture, NULL,
			  allocations_fixture_setup, test_the_mode_of_network_namespaces,
			  allocations_fixture_teardown),
	UNIT_TEST("/stats", test_stats),
	{ 0 },
};
