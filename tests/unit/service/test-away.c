/* SPDX-License-Identifier: Apache-2.0 */
#include "allocations-fixture.h"
#include "function-tree.h"

#include "hardware/device.h"
#include "hardware/sysroot.h"
#include "service/inventory-private.h"
#include "../scratch.h"
#include "../support/unit.h"

#define ID "0000:3b:00.0"

typedef struct {
	AllocationsFixture allocations;
	char *root;
	RdmadSysroot *sysroot;
	RdmadInventory *inventory;
	RdmadAwayTable *away;
	guint settled;
} Fixture;

static void settled(gpointer data)
{
	((Fixture *)data)->settled++;
}

static void open_all(Fixture *f)
{
	static const RdmadInventoryOps ops = { .settled = settled };
	g_autoptr(GError) error = NULL;

	f->inventory = rdmad_inventory_new(f->allocations.loop, f->allocations.event_log);
	f->away = rdmad_away_open(f->allocations.state, f->allocations.allocations, f->sysroot,
				  &error);
	g_assert_no_error(error);
	rdmad_inventory_set_away(f->inventory, f->away);
	rdmad_inventory_set_can_move(f->inventory, TRUE);
	g_assert_nonnull(rdmad_inventory_watch(f->inventory, NULL, &ops, f));
}

static void close_all(Fixture *f)
{
	rdmad_inventory_free(f->inventory);
	rdmad_away_close(f->away);
}

static void restart(Fixture *f)
{
	close_all(f);
	allocations_fixture_reopen(&f->allocations);
	open_all(f);
}

static void setup(Fixture *f, gconstpointer data)
{
	char *path[] = { (char *)"pci0000:3a", (char *)ID, NULL };

	allocations_fixture_setup(&f->allocations, NULL);
	f->root = scratch_new();
	function_tree_add(f->root, path, "mlx5_core");
	f->sysroot = rdmad_sysroot_new(f->root, NULL);
	open_all(f);
}

static void teardown(Fixture *f, gconstpointer data)
{
	close_all(f);
	rdmad_sysroot_free(f->sysroot);
	scratch_free(f->root);
	allocations_fixture_teardown(&f->allocations, NULL);
}

/* ---- scans ---- */

/* An active port with this interface; NULL: none. */
static RdmadDevice *device_new(const char *netdev)
{
	RdmadDevice *device = rdmad_device_new(ID, "mlx5_2");

	device->node_type = RDMAD_NODE_CA;
	device->pci_address = g_strdup(ID);
	device->ports = g_new0(RdmadPort, 1);
	device->n_ports = 1;
	device->ports[0] = (RdmadPort){ .number = 1,
					.link_layer = RDMAD_LINK_LAYER_INFINIBAND,
					.state = RDMAD_PORT_ACTIVE,
					.netdev = g_strdup(netdev),
					.gids = g_new0(RdmadGid, 1),
					.n_gids = 1 };
	if (netdev) {
		device->netdevs = g_new0(RdmadNetdev, 1);
		device->n_netdevs = 1;
		device->netdevs[0].name = g_strdup(netdev);
	}
	return device;
}

/* `device` NULL: it is not here. */
static void scan(Fixture *f, RdmadDevice *device)
{
	GPtrArray *devices = g_ptr_array_new();

	if (device)
		g_ptr_array_add(devices, device);
	rdmad_inventory_begin_scan(f->inventory);
	rdmad_inventory_replace(f->inventory, devices, NULL);
	allocations_fixture_run(&f->allocations);
}

/* Returns the allocation's id; g_free(). */
static char *hold(Fixture *f, const char *mode)
{
	const char *slots[] = { "a", NULL }, *ids[] = { ID, NULL };
	const RdmadGrant grant = { .owner = "test",
				   .resource = "rdma/hca",
				   .slots = slots,
				   .devices = ids,
				   .mode = mode };
	g_autoptr(RdmadAllocationRef) allocation =
		rdmad_allocations_grant(f->allocations.allocations, &grant, NULL);

	g_assert_nonnull(allocation);
	allocations_fixture_run(&f->allocations);
	return g_strdup(allocation->id);
}

static void end(Fixture *f, const char *id)
{
	g_assert_true(rdmad_allocations_end(f->allocations.allocations, id, "test", NULL));
	allocations_fixture_run(&f->allocations);
}

static const RdmadDevice *away(Fixture *f)
{
	const RdmadAwayDevice *found = rdmad_inventory_find_away(f->inventory, ID);

	return found ? found->device : NULL;
}

static const char *in_pod(Fixture *f)
{
	return rdmad_inventory_lookup(f->inventory, ID)->ports[0].netdev_in_pod;
}

/* ---- the device ---- */

static void test_leaving_and_returning(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;

	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	scan(f, NULL);
	g_assert_cmpstr(away(f)->name, ==, "mlx5_2");
	g_assert_cmpuint(away(f)->ports[0].n_gids, ==, 0);
	g_assert_cmpstr(rdmad_inventory_find_away(f->inventory, ID)->allocation, ==, id);
	g_assert_null(rdmad_inventory_lookup(f->inventory, ID));
	/* It may return after its holder has ended. */
	end(f, id);
	scan(f, NULL);
	g_assert_nonnull(away(f));
	scan(f, device_new("ib0"));
	g_assert_null(away(f));
	g_assert_null(in_pod(f));
	allocations_fixture_expect_events(&f->allocations, "device-added allocation-granted "
							   "device-in-pod allocation-ended "
							   "device-added ");
}

/* A device that leaves is in no pod if nobody may have moved it, or if its function has no driver.
 */
static void test_gone(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *name, *mode;
		gboolean is_shared, is_unbound;
	} cases[] = {
		{ "not held", NULL },
		{ "shared", "shared" },
		{ "shared namespaces", "exclusive", .is_shared = TRUE },
		{ "without a driver", "exclusive", .is_unbound = TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *id = NULL;

		g_test_message("%s", cases[i].name);
		rdmad_inventory_set_can_move(f->inventory, !cases[i].is_shared);
		scan(f, device_new("ib0"));
		id = cases[i].mode ? hold(f, cases[i].mode) : NULL;
		if (cases[i].is_unbound)
			function_tree_unbind(f->root, ID);
		scan(f, NULL);
		g_assert_null(away(f));
		if (id)
			end(f, id);
	}
}

static void test_removed_in_pod(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;
	guint before;

	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	scan(f, NULL);
	scan(f, NULL);
	g_assert_nonnull(away(f));
	before = f->settled;
	function_tree_unbind(f->root, ID);
	scan(f, NULL);
	g_assert_null(away(f));
	g_assert_cmpuint(f->settled, ==, before + 1);
}

static void test_restart(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;

	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	scan(f, NULL);
	restart(f);
	scan(f, NULL);
	g_assert_cmpstr(away(f)->name, ==, "mlx5_2");
	g_assert_cmpstr(away(f)->driver, ==, "mlx5_core");
	g_assert_cmpstr(away(f)->pci_path[0], ==, "pci0000:3a");
	g_assert_cmpint(away(f)->ports[0].link_layer, ==, RDMAD_LINK_LAYER_INFINIBAND);
	g_assert_cmpint(away(f)->ports[0].state, ==, RDMAD_PORT_ACTIVE);
	g_assert_cmpstr(away(f)->netdevs[0].name, ==, "ib0");
	scan(f, device_new("ib0"));
	g_assert_null(away(f));
	restart(f);
	g_assert_null(away(f));
}

/* ---- its interface ---- */

static void test_interface(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;

	scan(f, device_new("ib0"));
	scan(f, device_new(NULL));
	g_assert_cmpstr(in_pod(f), ==, NULL);
	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	g_assert_cmpstr(in_pod(f), ==, NULL);
	scan(f, device_new(NULL));
	g_assert_cmpstr(in_pod(f), ==, "ib0");
	g_assert_null(away(f));
	restart(f);
	scan(f, device_new(NULL));
	g_assert_cmpstr(in_pod(f), ==, "ib0");
	end(f, id);
	scan(f, device_new(NULL));
	g_assert_cmpstr(in_pod(f), ==, "ib0");
	scan(f, device_new("ib7"));
	g_assert_cmpstr(in_pod(f), ==, NULL);
	scan(f, device_new(NULL));
	g_assert_cmpstr(in_pod(f), ==, NULL);
}

/* A device that could not be read is a copy of the last one. */
static void test_interface_of_a_copy(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;
	RdmadDevice *copy;

	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	scan(f, device_new(NULL));
	copy = rdmad_device_copy(rdmad_inventory_lookup(f->inventory, ID));
	copy->stale++;
	scan(f, copy);
	g_assert_cmpstr(in_pod(f), ==, "ib0");
}

/* The RDMA device returns before its interface. */
static void test_device_before_interface(Fixture *f, gconstpointer data)
{
	g_autofree char *id = NULL;

	scan(f, device_new("ib0"));
	id = hold(f, "exclusive");
	scan(f, device_new(NULL));
	scan(f, NULL);
	g_assert_nonnull(away(f));
	end(f, id);
	scan(f, device_new(NULL));
	g_assert_null(away(f));
	g_assert_cmpstr(in_pod(f), ==, "ib0");
	scan(f, device_new("ib0"));
	g_assert_cmpstr(in_pod(f), ==, NULL);
}

#define TEST(name) UNIT_FIXTURE_TEST("/away/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(leaving_and_returning),
	TEST(gone),
	TEST(removed_in_pod),
	TEST(restart),
	TEST(interface),
	TEST(interface_of_a_copy),
	TEST(device_before_interface),
	{ .path = NULL },
};
