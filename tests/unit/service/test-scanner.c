/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/loop.h"
#include "base/work.h"
#include "service/scanner.h"
#include "hardware/sysroot.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"

#include "../hardware/failing-calls.h"
#include "../support/unit.h"

/* A recorded machine of almost nothing, and the services around it. */
typedef struct {
	char *root;
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadSysroot *sysroot;
	RdmadEventLog *event_log;
	RdmadAttributes *attributes;
	RdmadInventory *inventory;
	RdmadHardware *hw;
	GString *kinds; /* of the event log's entries, each with a space */
} Fixture;

static void add_device(const Fixture *f, const char *name)
{
	g_autofree char *path = g_build_filename(f->root, "sys/class/infiniband", name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

static void rename_sys(const Fixture *f, const char *from, const char *to)
{
	g_autofree char *old = g_build_filename(f->root, from, NULL);
	g_autofree char *new = g_build_filename(f->root, to, NULL);

	g_assert_cmpint(g_rename(old, new), ==, 0);
}

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	f->root = g_dir_make_tmp("rdmad-test-XXXXXX", &error);
	g_assert_no_error(error);
	add_device(f, "rxe0");
	f->loop = rdmad_loop_new();
	f->workers = rdmad_workers_new(f->loop, 1, NULL);
	f->sysroot = rdmad_sysroot_new(f->root, &error);
	g_assert_no_error(error);
	f->event_log = rdmad_event_log_new(f->loop);
	f->attributes = rdmad_attributes_new(f->loop);
	f->inventory = rdmad_inventory_new(f->loop, f->event_log);
	f->hw = rdmad_hardware_new(f->loop, f->workers, f->sysroot, f->inventory, f->attributes,
				   f->event_log);
	f->kinds = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_autofree char *remove = g_strdup_printf("rm -rf '%s'", f->root);

	rdmad_hardware_free(f->hw);
	rdmad_inventory_free(f->inventory);
	rdmad_attributes_free(f->attributes);
	rdmad_event_log_free(f->event_log);
	rdmad_workers_free(f->workers);
	rdmad_sysroot_free(f->sysroot); /* a look may have used it until now */
	rdmad_loop_free(f->loop);
	g_assert_cmpint(system(remove), ==, 0);
	g_string_free(f->kinds, TRUE);
	g_free(f->root);
}

static void start(Fixture *f)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_hardware_start(f->hw, &error));
	g_assert_no_error(error);
}

static void collect_kind(const RdmadEventLogEntry *entry, gpointer data)
{
	g_string_append_printf(data, "%s ", entry->kind);
}

static gboolean happened(Fixture *f, const char *kind)
{
	g_string_truncate(f->kinds, 0);
	rdmad_event_log_foreach(f->event_log, 0, collect_kind, f->kinds);
	return strstr(f->kinds->str, kind) != NULL;
}

static void too_late(gpointer data)
{
	g_error("it did not happen in time: %s", (const char *)data);
}

static void run_until_happened(Fixture *f, const char *kind)
{
	g_autoptr(RdmadEvent) limit = rdmad_loop_add_timer(f->loop, NULL, too_late, (gpointer)kind);

	rdmad_event_arm(limit, 10000);
	while (!happened(f, kind))
		rdmad_loop_turn(f->loop);
}

static void test_the_first_look_is_over_when_start_returns(Fixture *f, gconstpointer data)
{
	start(f);
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 1);
	g_assert_nonnull(rdmad_inventory_lookup_name(f->inventory, "rxe0"));
}

static void test_a_recorded_machine_has_no_verbs(Fixture *f, gconstpointer data)
{
	g_assert_null(rdmad_hardware_verbs(f->hw));
}

static void test_a_hint_finds_what_has_come(Fixture *f, gconstpointer data)
{
	start(f);
	add_device(f, "rxe1");
	rdmad_hardware_hint(f->hw);
	while (rdmad_inventory_count(f->inventory) < 2)
		rdmad_loop_turn(f->loop);
	g_assert_nonnull(rdmad_inventory_lookup_name(f->inventory, "rxe1"));
}

static void test_what_was_known_stays_when_a_look_fails(Fixture *f, gconstpointer data)
{
	start(f);
	rename_sys(f, "sys", "away");
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "scan-failed");
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 1);
}

static void test_a_failed_look_is_tried_again_without_a_hint(Fixture *f, gconstpointer data)
{
	start(f);
	rename_sys(f, "sys", "away");
	rdmad_hardware_hint(f->hw);
	g_assert_null(rdmad_hardware_problem(f->hw));
	run_until_happened(f, "scan-failed");
	g_assert_nonnull(strstr(rdmad_hardware_problem(f->hw), "sys"));
	rename_sys(f, "away", "sys");
	add_device(f, "rxe1");
	run_until_happened(f, "scan-recovered");
	g_assert_null(rdmad_hardware_problem(f->hw));
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 2);
}

static void nothing(gpointer data)
{
}

static void run_for(Fixture *f, guint ms)
{
	g_autoptr(RdmadEvent) end = rdmad_loop_add_timer(f->loop, NULL, nothing, NULL);

	rdmad_event_arm(end, ms);
	while (rdmad_event_armed(end))
		rdmad_loop_turn(f->loop);
}

/* Tries come 1 and 3 s after the first failure, the next one would after 7. */
static void test_a_hint_does_not_wait_for_the_next_try(Fixture *f, gconstpointer data)
{
	gint64 began;

	start(f);
	rename_sys(f, "sys", "away");
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "scan-failed");
	run_for(f, 3500);
	rename_sys(f, "away", "sys");
	began = g_get_monotonic_time();
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "scan-recovered");
	g_assert_cmpint(g_get_monotonic_time() - began, <, 2 * G_USEC_PER_SEC);
}

static void test_a_look_under_way_does_not_outlive_its_service(Fixture *f, gconstpointer data)
{
	start(f);
	rdmad_hardware_hint(f->hw);
	g_usleep((RDMAD_COALESCE_MS + 10) * 1000);
	rdmad_loop_turn(f->loop);
	/* teardown frees it with the job in the air */
}

static void test_without_a_sysfs_there_is_no_start(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	rename_sys(f, "sys", "away");
	g_assert_false(rdmad_hardware_start(f->hw, &error));
	g_assert_nonnull(error);
}

static void test_a_device_that_cannot_be_looked_at_stays_and_is_looked_at_again(Fixture *f,
										gconstpointer data)
{
	start(f);
	fault.errnum = EMFILE;
	fault.path = "infiniband/rxe0/.";
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "scan-incomplete");
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 1);
	g_assert_cmpuint(rdmad_inventory_nth(f->inventory, 0)->stale, ==, 1);
	fault.path = NULL;
	run_until_happened(f, "scan-recovered");
	g_assert_cmpuint(rdmad_inventory_nth(f->inventory, 0)->stale, ==, 0);
	g_assert_false(happened(f, "device-removed"));
}

#define TEST(name) UNIT_FIXTURE_TEST("/scanner/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_first_look_is_over_when_start_returns),
	TEST(a_recorded_machine_has_no_verbs),
	TEST(a_hint_finds_what_has_come),
	TEST(what_was_known_stays_when_a_look_fails),
	TEST(a_device_that_cannot_be_looked_at_stays_and_is_looked_at_again),
	TEST(a_failed_look_is_tried_again_without_a_hint),
	TEST(a_hint_does_not_wait_for_the_next_try),
	TEST(a_look_under_way_does_not_outlive_its_service),
	TEST(without_a_sysfs_there_is_no_start),
	{ 0 },
};
