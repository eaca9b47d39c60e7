/* SPDX-License-Identifier: Apache-2.0 */
#include "container.h"

#include <glib/gstdio.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <string.h>

#include "hardware/device.h"
#include "hardware/sysroot.h"
#include "service/allocations-fixture.h"
#include "service/function-tree.h"
#include "service/inventory-private.h"
#include "view-text.h"
#include "support/unit.h"

typedef struct {
	AllocationsFixture allocations;
	RdmadInventory *inventory;
	NcclSettings *settings;
	NcclContainer *container;
	RdmadSysroot *sysroot;
	RdmadAwayTable *away;
} Fixture;

/* Sets the devices of a scan; `gid_index` is the index of the pod's address. */
static void scan(Fixture *f, guint gid_index)
{
	g_autofree char *text = g_strdup_printf("dev-a net=eth0 0/v2/fe80::1 %u/v2/10.0.0.7\n"
						"dev-b net=eth1 0/v2/fe80::2 %u/v2/10.0.1.7\n",
						gid_index, gid_index);
	g_autoptr(NcclView) view = view_from_text(text);
	GPtrArray *devices = g_ptr_array_new();

	for (guint i = 0; i < view->devices->len; i++) {
		RdmadDevice *device = rdmad_device_copy(nccl_view_device(view, i)->device);

		device->n_chardevs = 1;
		device->chardevs = g_new0(RdmadChardev, 1);
		device->chardevs[0].path = g_strdup("/dev/infiniband/uverbs0");
		g_ptr_array_add(devices, device);
	}
	rdmad_inventory_replace(f->inventory, devices, g_ptr_array_new());
	allocations_fixture_run(&f->allocations);
}

static void away_open(Fixture *f)
{
	g_autoptr(GError) error = NULL;

	f->away = rdmad_away_open(f->allocations.state, f->allocations.allocations, f->sysroot,
				  &error);
	g_assert_no_error(error);
	rdmad_inventory_set_away(f->inventory, f->away);
	rdmad_inventory_set_can_move(f->inventory, TRUE);
}

static void setup(Fixture *f, gconstpointer data)
{
	allocations_fixture_setup(&f->allocations, NULL);
	f->inventory = rdmad_inventory_new(f->allocations.loop, f->allocations.event_log);
	f->settings = settings_from_text(NULL);
	f->container = nccl_container_new();
	f->sysroot = rdmad_sysroot_new(f->allocations.dir, NULL);
	away_open(f);
	scan(f, 3);
}

static void teardown(Fixture *f, gconstpointer data)
{
	nccl_container_free(f->container);
	nccl_settings_free(f->settings);
	rdmad_inventory_free(f->inventory);
	rdmad_away_close(f->away);
	rdmad_sysroot_free(f->sysroot);
	allocations_fixture_teardown(&f->allocations, NULL);
}

/* Makes an allocation of one device, with its directory; returns its ID, g_free(). */
static char *hold(Fixture *f, const char *slot)
{
	char *id = allocations_fixture_must_grant(&f->allocations, slot);

	g_assert_true(rdmad_allocation_dir_make(f->allocations.dir, id, NULL));
	return id;
}

static void attach(Fixture *f, const char *id, const char *interface, const char *address)
{
	char *addresses[] = { (char *)address, NULL };
	const RdmadAttachment attachment = { .netns = (char *)"/run/netns/pod",
					     .interface = (char *)interface,
					     .addresses = addresses,
					     .gid_index = RDMAD_UNKNOWN };

	g_assert_true(rdmad_allocations_attach(f->allocations.allocations, id, &attachment, NULL));
}

static NcclContainerResult update(Fixture *f, const char *id, const char *other)
{
	g_ptr_array_set_size(f->container->allocations, 0);
	for (guint i = 0; i < 2; i++) {
		const char *wanted = i ? other : id;

		if (wanted)
			g_ptr_array_add(f->container->allocations,
					(gpointer)rdmad_allocation_ref(rdmad_allocations_lookup(
						f->allocations.allocations, wanted)));
	}
	return nccl_container_update(f->container, NULL, f->inventory, f->settings,
				     f->allocations.dir);
}

static char *conf(Fixture *f, const char *id)
{
	g_autoptr(NcclDiskPlan) plan = nccl_disk_plan_read(f->allocations.dir, id);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%" G_GUINT64_FORMAT, plan->generation);
	for (guint i = 0; i < plan->env->variables->len; i++)
		g_string_append_printf(text, " %s=%s", nccl_env_nth(plan->env, i)->name,
				       nccl_env_nth(plan->env, i)->value);
	return g_string_free(text, FALSE);
}

static void assert_conf(Fixture *f, const char *id, const char *wanted)
{
	g_autofree char *text = conf(f, id);

	g_assert_cmpstr(text, ==, wanted);
}

/* First the port only, then with its network the GID, then another index for it. */
static void test_changes(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");

	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_NEW);
	assert_conf(f, id, "1 NCCL_IB_HCA==dev-a:1");
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_SAME);
	attach(f, id, "eth0", "10.0.0.7/24");
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_CHANGED);
	assert_conf(f, id, "2 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=3");
	nccl_container_start(f->container);
	scan(f, 5);
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_CHANGED);
	assert_conf(f, id, "3 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=5");
	g_assert_cmpstr(nccl_env_get(f->container->first, "NCCL_IB_GID_INDEX"), ==, "3");
}

/* Settings that a running job has read may be wrong for the current GIDs. */
static void test_consistent(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");
	g_autofree char *why = NULL;

	attach(f, id, "eth0", "10.0.0.7/24");
	update(f, id, NULL);
	nccl_container_start(f->container);
	g_assert_true(nccl_plan_holds(f->container->view, &f->settings->policy, f->container->first,
				      NCCL_NEWEST, &why));
	scan(f, 5);
	update(f, id, NULL);
	g_assert_false(nccl_plan_holds(f->container->view, &f->settings->policy,
				       f->container->first, NCCL_NEWEST, &why));
	g_assert_cmpstr(why, ==, "dev-a:1: NCCL 2.32 takes GID 3, empty");
}

static void test_files(Fixture *f, gconstpointer data)
{
	static const char *const files[] = { "nccl.conf", "nccl.env", "plan.json",
					     "nccl-versions.conf", NULL };
	g_autofree char *id = hold(f, "a");

	attach(f, id, "eth0", "10.0.0.7/24");
	update(f, id, NULL);
	for (guint i = 0; files[i]; i++)
		g_assert_true(rdmad_allocation_dir_has(f->allocations.dir, id, files[i], NULL));
	g_assert_false(rdmad_allocation_dir_has(f->allocations.dir, id, "topology.xml", NULL));
}

static char *read_file(Fixture *f, const char *id, const char *file)
{
	g_autoptr(GError) error = NULL;
	char *text = rdmad_allocation_dir_read(f->allocations.dir, id, file, 1 << 20, &error);

	g_assert_no_error(error);
	return text;
}

/* NCCL's settings stay, those of other libraries change: the files are rewritten, but NCCL's job is
 * not notified. */
static void test_other_files(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");
	g_autofree char *before = NULL;
	g_autofree char *now = NULL;

	attach(f, id, "eth0", "10.0.0.7/24");
	update(f, id, NULL);
	before = read_file(f, id, "nccl.env");
	g_assert_null(strstr(before, "export UCX_NET_DEVICES"));
	nccl_settings_free(f->settings);
	f->settings = settings_from_text("siblings = \"ucx\";");
	nccl_view_free(g_steal_pointer(&f->container->view));
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_SAME);
	now = read_file(f, id, "nccl.env");
	g_assert_nonnull(strstr(now, "export UCX_NET_DEVICES='dev-a:1'"));
	assert_conf(f, id, "2 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=3");
}

/* Two resources: kubelet mounts one of the two directories, so both have all devices. */
static void test_two_allocations(Fixture *f, gconstpointer data)
{
	g_autofree char *a = hold(f, "a");
	g_autofree char *b = hold(f, "b");

	attach(f, a, "eth0", "10.0.0.7/24");
	attach(f, b, "eth1", "10.0.1.7/24");
	update(f, a, b);
	assert_conf(f, a, "1 NCCL_IB_HCA==dev-a:1,dev-b:1 NCCL_IB_GID_INDEX=3");
	assert_conf(f, b, "1 NCCL_IB_HCA==dev-a:1,dev-b:1 NCCL_IB_GID_INDEX=3");
}

/* The plan on the disk is that of the previous process: nothing is new, and the generation
 * continues. */
static void test_restart(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");

	attach(f, id, "eth0", "10.0.0.7/24");
	update(f, id, NULL);
	scan(f, 5);
	update(f, id, NULL);
	nccl_container_free(f->container);
	f->container = nccl_container_new();
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_SAME);
	g_assert_cmpuint(f->container->generation, ==, 2);
	scan(f, 6);
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_CHANGED);
	assert_conf(f, id, "3 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=6");
}

/* The allocation has ended meanwhile, or the module that makes its directory tries again. */
static void test_no_directory(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");

	update(f, id, NULL);
	g_assert_true(rdmad_allocation_dir_remove(f->allocations.dir, id, NULL));
	scan(f, 5);
	attach(f, id, "eth0", "10.0.0.7/24");
	update(f, id, NULL);
	g_assert_false(rdmad_allocation_dir_has(f->allocations.dir, id, "nccl.conf", NULL));
	g_assert_true(rdmad_allocation_dir_make(f->allocations.dir, id, NULL));
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_SAME);
	assert_conf(f, id, "2 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=5");
}

/* The disk was full: the same plan is written later. */
static void test_unwritable(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");
	g_autofree char *dir = rdmad_allocation_dir_path(f->allocations.dir, id);
	g_autofree char *place = g_build_filename(dir, "plan.json", NULL);

	g_assert_cmpint(g_mkdir(place, 0755), ==, 0);
	update(f, id, NULL);
	g_assert_true(f->container->unwritten);
	g_assert_nonnull(strstr(f->container->problem, "plan.json"));
	assert_conf(f, id, "0");
	g_assert_cmpint(g_rmdir(place), ==, 0);
	g_assert_cmpint(update(f, id, NULL), ==, NCCL_CONTAINER_SAME);
	g_assert_false(f->container->unwritten);
	g_assert_null(f->container->problem);
	assert_conf(f, id, "1 NCCL_IB_HCA==dev-a:1");
}

/* In the host's namespace, the addresses are those of the host. */
static void test_host_network(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");

	nccl_settings_free(f->settings);
	f->settings = settings_from_text("network = \"host\";");
	update(f, id, NULL);
	/* This inventory has no addresses, so GIDs are not matched. */
	assert_conf(f, id, "1 NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=3");
}

/* A device that was moved into the pod is no longer in the inventory. */
static void test_moved_device(Fixture *f, gconstpointer data)
{
	g_autofree char *id = hold(f, "a");
	char *addresses[] = { (char *)"10.0.0.7/24", NULL };
	const RdmadAttachment attachment = { .netns = (char *)"/run/netns/pod",
					     .interface = (char *)"net1",
					     .rdma_device = (char *)"mlx5_7",
					     .addresses = addresses,
					     .gid_index = 3 };

	rdmad_inventory_replace(f->inventory, g_ptr_array_new(), g_ptr_array_new());
	g_assert_true(rdmad_allocations_attach(f->allocations.allocations, id, &attachment, NULL));
	update(f, id, NULL);
	assert_conf(f, id, "1 NCCL_IB_HCA==mlx5_7:1 NCCL_IB_GID_INDEX=3");
}

/* The device is here, and then in the pod. */
static void device_move(Fixture *f, const RdmadDevice *device)
{
	char *path[] = { (char *)"pci0000:00", device->pci_address, NULL };
	GPtrArray *devices = g_ptr_array_new();

	function_tree_add(f->allocations.dir, path, device->driver ?: "mlx5_core");
	g_ptr_array_add(devices, rdmad_device_copy(device));
	rdmad_inventory_replace(f->inventory, devices, NULL);
	rdmad_inventory_replace(f->inventory, g_ptr_array_new(), NULL);
}

/* Members that its attachment lacks are known from its last snapshot, after a restart too. */
static void test_moved_snapshot(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *device;
		int gid_index;
		const char *conf, *reason;
	} cases[] = {
		{ "dev-a net=eth0", 3, "NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=3", NULL },
		/* module cni did not wait for it */
		{ "dev-a net=eth0", RDMAD_UNKNOWN, "NCCL_IB_HCA==dev-a:1",
		  "the GIDs of a device that was moved into the pod are not known" },
		{ "dev-a ib", RDMAD_UNKNOWN, "NCCL_IB_HCA==dev-a:1", NULL },
		{ "dev-a ib down", RDMAD_UNKNOWN, "NCCL_IB_HCA==dev-a:1", NULL },
		{ "dev-a port=2 ib", RDMAD_UNKNOWN, "NCCL_IB_HCA==dev-a:2", NULL },
		{ "dev-a ib net=ib0 port=2 ib down", RDMAD_UNKNOWN, "NCCL_IB_HCA==dev-a:1", NULL },
		{ "dev-a net=eth0 driver=erdma", 1,
		  "NCCL_IB_HCA==dev-a:1 NCCL_IB_GID_INDEX=1 NCCL_NET_GDR_LEVEL=SYS", NULL },
	};
	g_autofree char *id = hold(f, "a");
	char *addresses[] = { (char *)"10.0.0.7/24", NULL };

	for (guint i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
		const RdmadAttachment attachment = { .netns = (char *)"/run/netns/pod",
						     .interface = (char *)"net1",
						     .rdma_device = (char *)"dev-a",
						     .addresses = addresses,
						     .gid_index = cases[i / 2].gid_index };
		g_autoptr(NcclView) view = view_from_text(cases[i / 2].device);
		g_autofree char *text = NULL;

		g_test_message("%s", cases[i / 2].device);
		g_assert_true(rdmad_allocations_attach(f->allocations.allocations, id, &attachment,
						       NULL));
		device_move(f, nccl_view_device(view, 0)->device);
		if (i % 2) {
			rdmad_away_close(f->away);
			away_open(f);
		}
		update(f, id, NULL);
		text = conf(f, id);
		g_assert_cmpstr(strchr(text, ' ') + 1, ==, cases[i / 2].conf);
		g_assert_cmpstr(f->container->plan->reason, ==, cases[i / 2].reason);
	}
}

static void test_difference(void)
{
	g_autoptr(NcclEnv) before = env_from_text("A=1 B=2 C=3");
	g_autoptr(NcclEnv) now = env_from_text("A=1 B=5 D=4");
	g_autofree char *text = nccl_container_difference(before, now);

	g_assert_cmpstr(text, ==, "B 5, was 2; D 4, was unset; C unset, was 3");
}

#define TEST(name, fn) UNIT_FIXTURE_TEST("/container/" name, Fixture, NULL, setup, fn, teardown)

const UnitTest unit_tests[] = {
	TEST("the plan follows the network and the GIDs", test_changes),
	TEST("what a job has read may be wrong now", test_consistent),
	TEST("all files are there", test_files),
	TEST("files that no variable of NCCL changes follow too", test_other_files),
	TEST("two allocations share one plan", test_two_allocations),
	TEST("a restart changes nothing", test_restart),
	TEST("a directory that was removed stays away", test_no_directory),
	TEST("what could not be written is tried again", test_unwritable),
	TEST("the host's network", test_host_network),
	TEST("a device that was moved", test_moved_device),
	TEST("a device that was moved, and its last snapshot", test_moved_snapshot),
	UNIT_TEST("/container/what differs", test_difference),
	{ 0 },
};
