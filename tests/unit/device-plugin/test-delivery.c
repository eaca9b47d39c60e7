/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/delivery.h"

#include <glib/gstdio.h>
#include <rdmad/allocation-dir.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "allocate/allocation-directory.h"
#include "fixture.h"
#include "hardware/sysroot.h"
#include "service/allocations-private.h"
#include "service/event-log-private.h"
#include "service/pods-private.h"
#include "../support/unit.h"

#define OWNER "device-plugin"
#define ID    "0000:3b:00.0"

typedef struct {
	char *dir, *info_dir, *cdi_dir;
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadState *state;
	RdmadAllocations *allocations;
	RdmadDevice *dev;
	Delivery *delivery;
} Fixture;

static Delivery *fixture_delivery(Fixture *f)
{
	const DeliveryDirectories directories = { f->info_dir, f->cdi_dir };

	return delivery_new(f->dir, OWNER, f->allocations, &directories);
}

static void configure(Fixture *f, const char *info_dir)
{
	const DeliveryDirectories directories = { info_dir, f->cdi_dir };

	delivery_configure(f->delivery, &directories);
}

static void setup(Fixture *f, gconstpointer data)
{
	umask(0077);
	f->dir = g_dir_make_tmp("rdmad-delivery-XXXXXX", NULL);
	f->info_dir = g_build_filename(f->dir, "devinfo", "dp", NULL);
	f->cdi_dir = g_build_filename(f->dir, "cdi", NULL);
	f->loop = rdmad_loop_new();
	f->event_log = rdmad_event_log_new(f->loop);
	f->state = rdmad_state_open(NULL, NULL, NULL);
	f->allocations = rdmad_allocations_new(f->loop, f->state, f->event_log, NULL);
	f->dev = fixture_device(ID, "mlx5_0", 0);
	f->delivery = fixture_delivery(f);
	delivery_set_device(f->delivery, ID, f->dev);
	delivery_follow(f->delivery);
}

static void teardown(Fixture *f, gconstpointer data)
{
	const char *argv[] = { "/bin/rm", "-r", f->dir, NULL };
	g_autofree char *command = g_strjoinv(" ", (char **)argv);

	delivery_free(f->delivery);
	rdmad_device_unref(f->dev);
	rdmad_allocations_free(f->allocations);
	rdmad_state_close(f->state);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
	g_assert_cmpint(system(command), ==, 0);
	g_free(f->info_dir);
	g_free(f->cdi_dir);
	g_free(f->dir);
}

static const RdmadAllocation *grant(Fixture *f, const char *slots)
{
	g_auto(GStrv) split = g_strsplit(slots, " ", -1);
	const char *devices[] = { ID, ID, NULL };
	const RdmadGrant wanted = { OWNER, "rdma/hca", (const char *const *)split, devices };
	g_autoptr(GError) error = NULL;
	const RdmadAllocation *allocation;

	devices[g_strv_length(split)] = NULL;
	allocation = rdmad_allocations_grant(f->allocations, &wanted, &error);
	g_assert_no_error(error);
	delivery_begin(f->delivery, allocation, &error);
	g_assert_no_error(error);
	return allocation;
}

static char *info_path(Fixture *f, const char *slot)
{
	g_autofree char *name = g_strdup_printf("rdma-hca-%s-device.json", slot);

	return g_build_filename(f->info_dir, name, NULL);
}

static char *info(Fixture *f, const char *slot)
{
	g_autofree char *path = info_path(f, slot);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static gboolean has_info(Fixture *f, const char *slot)
{
	g_autofree char *text = info(f, slot);

	return text != NULL;
}

#define TEXT(name)                                                                                 \
	"{\"pci\":{\"pci-address\":\"" ID "\",\"rdma-device\":\"" name                             \
	"\"},\"type\":\"pci\",\"version\":\"1.1.0\"}"

static void test_each_slot_has_a_file_that_all_can_read(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation G_GNUC_UNUSED = grant(f, ID "::1 " ID "::2");
	g_autofree char *first = info(f, ID "::1");
	g_autofree char *path = info_path(f, ID "::2");
	struct stat status;

	g_assert_cmpstr(first, ==, TEXT("mlx5_0"));
	g_assert_cmpint(stat(path, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 07777, ==, 0444);
	g_assert_cmpint(stat(f->info_dir, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 07777, ==, 0755);
}

static void test_a_virtual_function_names_its_physical_one(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation = NULL;
	g_autofree char *text = NULL;

	f->dev->pf_address = g_strdup("0000:3b:00.7");
	allocation = grant(f, "a");
	text = info(f, "a");
	g_assert_nonnull(strstr(text, "\"pf-pci-address\":\"0000:3b:00.7\""));
}

static void test_software_devices_and_subfunctions_have_none(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) first = NULL;
	g_autoptr(RdmadAllocationRef) second = NULL;

	f->dev->aux_name = g_strdup("mlx5_core.sf.4");
	first = grant(f, "a");
	g_clear_pointer(&f->dev->aux_name, g_free);
	g_clear_pointer(&f->dev->pci_address, g_free);
	second = grant(f, "b");
	g_assert_false(has_info(f, "a") || has_info(f, "b"));
}

static void test_the_files_go_with_the_allocation(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation = grant(f, "a b");

	g_assert_true(rdmad_allocations_end(f->allocations, allocation->id, "over", NULL));
	delivery_end(f->delivery, allocation);
	g_assert_false(has_info(f, "a") || has_info(f, "b"));
}

/* The end of an allocation is reported after it has happened. */
static void test_a_slot_that_has_a_new_holder_keeps_its_file(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) before = grant(f, "a b");
	g_autoptr(RdmadAllocationRef) now G_GNUC_UNUSED = grant(f, "a");

	delivery_end(f->delivery, before);
	g_assert_true(has_info(f, "a"));
	g_assert_false(has_info(f, "b"));
}

static void test_a_device_that_leaves_takes_the_file_away_and_brings_it_back(Fixture *f,
									     gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation G_GNUC_UNUSED = grant(f, "a");
	g_autoptr(RdmadDeviceRef) renamed = fixture_device(ID, "rocep59s0", 0);
	g_autofree char *text = NULL;

	delivery_set_device(f->delivery, ID, NULL);
	delivery_follow(f->delivery);
	g_assert_false(has_info(f, "a"));
	delivery_set_device(f->delivery, ID, renamed);
	delivery_follow(f->delivery);
	text = info(f, "a");
	g_assert_cmpstr(text, ==, TEXT("rocep59s0"));
}

static void test_files_of_others_are_never_removed(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation G_GNUC_UNUSED = grant(f, "a");
	g_autofree char *foreign = info_path(f, "x");

	g_assert_true(g_file_set_contents(foreign, "{}", -1, NULL));
	configure(f, NULL);
	g_assert_false(has_info(f, "a"));
	g_assert_true(has_info(f, "x"));
}

static void test_another_directory_gets_the_files_of_all_allocations(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation G_GNUC_UNUSED = grant(f, "a");
	g_autofree char *before = info_path(f, "a");
	g_autofree char *other = g_build_filename(f->dir, "other", NULL);

	configure(f, other);
	g_free(f->info_dir);
	f->info_dir = g_steal_pointer(&other);
	g_assert_true(has_info(f, "a"));
	g_assert_false(g_file_test(before, G_FILE_TEST_EXISTS));
}

/* Multus may be missing, or its directory read-only. */
static void test_a_file_that_cannot_be_written_stops_no_pod(Fixture *f, gconstpointer data)
{
	configure(f, "/proc/nothing");
	rdmad_allocation_unref(grant(f, "a"));
}

/* ---- names for runtimes ---- */

/* Runs one round with one resource over the device. */
static gboolean try_publish(Fixture *f, const char *text, GError **error)
{
	g_autoptr(ResourceSettings) settings = fixture_resource(text);
	const PoolMember member = { f->dev, FALSE };
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(PoolMember));

	g_array_append_val(members, member);
	delivery_offer(f->delivery, settings, members);
	return delivery_publish(f->delivery, error);
}

static void publish(Fixture *f, const char *text)
{
	g_autoptr(GError) error = NULL;

	try_publish(f, text, &error);
	g_assert_no_error(error);
}

#define ON   "name = \"a/b\"; cdi = \"on\";"
#define MAD  ON "umad = true;"
#define OFF  "name = \"a/b\";"
#define NAME CDI_KIND "=" ID

static gboolean knows(Fixture *f, RdmadChardevKind kind)
{
	return cdi_has(delivery_cdi(f->delivery), ID, kind);
}

static gboolean has_spec(Fixture *f)
{
	g_autofree char *path = g_build_filename(f->cdi_dir, CDI_FILE, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void give_umad(Fixture *f)
{
	f->dev->chardevs[1].kind = RDMAD_CHARDEV_UMAD;
}

static void test_only_what_resources_hand_out_has_a_name(Fixture *f, gconstpointer data)
{
	give_umad(f);
	publish(f, OFF);
	g_assert_false(has_spec(f));
	publish(f, ON);
	g_assert_true(knows(f, RDMAD_CHARDEV_UVERBS));
	g_assert_false(knows(f, RDMAD_CHARDEV_UMAD));
	publish(f, MAD);
	g_assert_true(knows(f, RDMAD_CHARDEV_UMAD));
}

static void test_the_specification_goes_with_the_last_name(Fixture *f, gconstpointer data)
{
	publish(f, ON);
	g_assert_true(has_spec(f));
	publish(f, OFF);
	g_assert_false(has_spec(f));
}

/* After a restart, the names are read from the file. */
static void
test_a_name_that_a_allocation_may_have_stays_until_the_allocation_ends(Fixture *f,
								       gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation = grant(f, "a");

	give_umad(f);
	publish(f, MAD);
	delivery_free(f->delivery);
	f->delivery = fixture_delivery(f);
	delivery_load(f->delivery);
	delivery_set_device(f->delivery, ID, f->dev);
	publish(f, OFF);
	g_assert_true(has_spec(f));
	delivery_follow(f->delivery);
	publish(f, OFF);
	g_assert_true(knows(f, RDMAD_CHARDEV_UVERBS) && knows(f, RDMAD_CHARDEV_UMAD));
	g_assert_true(rdmad_allocations_end(f->allocations, allocation->id, "over", NULL));
	publish(f, OFF);
	g_assert_false(has_spec(f));
}

static void test_a_specification_of_others_is_left_alone(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->cdi_dir, CDI_FILE, NULL);
	const char *foreign = "{\"kind\": \"example.com/x\", \"devices\": []}";
	g_autoptr(GError) error = NULL;
	g_autofree char *after = NULL;

	g_assert_cmpint(g_mkdir(f->cdi_dir, 0755), ==, 0);
	g_assert_true(g_file_set_contents(path, foreign, -1, NULL));
	g_assert_false(try_publish(f, ON, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	publish(f, OFF);
	g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
	g_assert_cmpstr(after, ==, foreign);
}

/* lstat() fails with ENOTDIR: nothing is known about the file. */
static void test_a_specification_that_cannot_be_examined_is_an_error(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(g_file_set_contents(f->cdi_dir, "", 0, NULL));
	g_assert_false(try_publish(f, ON, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, CDI_FILE));
}

static void test_a_specification_that_was_removed_is_not_relied_upon(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->cdi_dir, CDI_FILE, NULL);
	g_autoptr(ResourceSettings) settings = fixture_resource(ON);
	g_autoptr(GPtrArray) devices = g_ptr_array_new();
	g_autoptr(GPtrArray) names = NULL;

	g_ptr_array_add(devices, f->dev);
	publish(f, ON);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_null(cdi_names(delivery_cdi(f->delivery), devices, settings));
	publish(f, ON);
	names = cdi_names(delivery_cdi(f->delivery), devices, settings);
	g_assert_cmpuint(names->len, ==, 1);
	g_assert_cmpstr(names->pdata[0], ==, NAME);
}

/* ---- directories without an allocation ---- */

#define STALE "0123456789abcdef"

static RdmadPodLife life_of(const char *pod_namespace, const char *pod_name, const char *pod_cgroup,
			    gpointer data)
{
	return *(const RdmadPodLife *)data;
}

/* A leftover directory of slots a and b, whose pod was train-0. */
static const struct {
	const char *name;
	RdmadPodLife life;
	gboolean described;
	const char *granted; /* NULL: nothing */
	gboolean stays;
	gboolean bare; /* the granted allocation has no directory */
} stale_cases[] = {
	{ "nobody has its slots", RDMAD_POD_LIFE_UNKNOWN, TRUE, NULL, FALSE },
	{ "its pod lives", RDMAD_POD_LIFE_ALIVE, TRUE, NULL, TRUE },
	{ "its pod is gone", RDMAD_POD_LIFE_GONE, TRUE, NULL, FALSE },
	{ "an allocation without a directory has one of its slots", RDMAD_POD_LIFE_GONE, TRUE,
	  "b c", TRUE, TRUE },
	{ "an allocation has one of its slots", RDMAD_POD_LIFE_GONE, TRUE, "b c", FALSE },
	{ "an allocation has one of its slots, and its pod lives", RDMAD_POD_LIFE_ALIVE, TRUE,
	  "b c", TRUE },
	{ "an allocation has others", RDMAD_POD_LIFE_UNKNOWN, TRUE, "c", FALSE },
	{ "nobody knows whose it is, no allocation is left", RDMAD_POD_LIFE_UNKNOWN, FALSE, NULL,
	  FALSE },
	{ "nobody knows whose it is", RDMAD_POD_LIFE_UNKNOWN, FALSE, "c", TRUE },
};

static void stale_directory_make(Fixture *f, gboolean described)
{
	char *slots[] = { (char *)"a", (char *)"b", NULL };
	const RdmadAllocation allocation = {
		.id = (char *)STALE,
		.resource = (char *)"rdma/hca",
		.slots = slots,
		.devices = slots,
		.pod_namespace = (char *)"ml",
		.pod_name = (char *)"train-0",
	};

	g_assert_true(allocation_directory_begin(f->dir, NULL, &allocation, NULL));
	if (!described)
		g_assert_true(
			rdmad_allocation_dir_write(f->dir, STALE, "allocation.json", "?", NULL));
}

static void check_stale(Fixture *f, guint i)
{
	g_autofree char *path = rdmad_allocation_dir_path(f->dir, STALE);
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(f->dir, NULL);
	RdmadPods *pods = rdmad_pods_new(f->loop, root, f->allocations, f->dir);
	RdmadPodLife life = stale_cases[i].life;
	g_autoptr(RdmadAllocationRef) allocation = NULL;

	g_test_message("%s", stale_cases[i].name);
	rdmad_allocations_set_liveness(f->allocations, life_of, &life);
	stale_directory_make(f, stale_cases[i].described);
	delivery_load(f->delivery);
	g_assert_true(g_file_test(path, G_FILE_TEST_IS_DIR));
	if (stale_cases[i].granted)
		allocation = grant(f, stale_cases[i].granted);
	if (stale_cases[i].bare)
		g_assert_true(rdmad_allocation_dir_remove(f->dir, allocation->id, NULL));
	g_assert_cmpuint(delivery_review(f->delivery, pods), ==, stale_cases[i].stays);
	g_assert_true(g_file_test(path, G_FILE_TEST_IS_DIR) == stale_cases[i].stays);
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
	rdmad_pods_free(pods);
}

static void
test_a_directory_without_an_allocation_is_removed_when_no_pod_can_have_it(Fixture *f,
									  gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(stale_cases); i++) {
		Fixture one = { 0 };

		setup(&one, NULL);
		check_stale(&one, i);
		teardown(&one, NULL);
	}
}

static void test_slots_recall_the_id_of_their_directory(Fixture *f, gconstpointer data)
{
	static const char *const both[] = { "a", "b", NULL }, *const one[] = { "a", NULL };
	g_autofree char *found = NULL;

	stale_directory_make(f, TRUE);
	delivery_load(f->delivery);
	found = delivery_recall(f->delivery, "rdma/hca", both);
	g_assert_cmpstr(found, ==, STALE);
	g_assert_null(delivery_recall(f->delivery, "rdma/hca", one));
	g_assert_null(delivery_recall(f->delivery, "rdma/other", both));
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/delivery/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(each_slot_has_a_file_that_all_can_read),
	TEST(a_virtual_function_names_its_physical_one),
	TEST(software_devices_and_subfunctions_have_none),
	TEST(the_files_go_with_the_allocation),
	TEST(a_slot_that_has_a_new_holder_keeps_its_file),
	TEST(a_device_that_leaves_takes_the_file_away_and_brings_it_back),
	TEST(files_of_others_are_never_removed),
	TEST(another_directory_gets_the_files_of_all_allocations),
	TEST(a_file_that_cannot_be_written_stops_no_pod),
	TEST(only_what_resources_hand_out_has_a_name),
	TEST(the_specification_goes_with_the_last_name),
	TEST(a_name_that_a_allocation_may_have_stays_until_the_allocation_ends),
	TEST(a_specification_of_others_is_left_alone),
	TEST(a_specification_that_cannot_be_examined_is_an_error),
	TEST(a_specification_that_was_removed_is_not_relied_upon),
	TEST(a_directory_without_an_allocation_is_removed_when_no_pod_can_have_it),
	TEST(slots_recall_the_id_of_their_directory),
	{ 0 },
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_log_set_always_fatal(G_LOG_FATAL_MASK);
	unit_tests_add();
	return g_test_run();
}
