/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/loop.h"
#include "base/work.h"
#include "service/scanner.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"

#include "../hardware/failing-calls.h"
#include "../hardware/machine.h"
#include "../support/unit.h"

/* A minimal recorded machine, and the services that a scanner needs. */
typedef struct {
	TestMachine *machine;
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadEventLog *event_log;
	RdmadAttributes *attributes;
	RdmadInventory *inventory;
	RdmadHardware *hw;
	GString *kinds;	 /* kinds of the event log's entries, each followed by a blank */
	GString *opened; /* opened files of the machine, if a test records them */
} Fixture;

static void add_device(const Fixture *f, const char *name)
{
	g_autofree char *path =
		g_build_filename(f->machine->dir, "sys/class/infiniband", name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

static void rename_sys(const Fixture *f, const char *from, const char *to)
{
	g_autofree char *old = g_build_filename(f->machine->dir, from, NULL);
	g_autofree char *new = g_build_filename(f->machine->dir, to, NULL);

	g_assert_cmpint(g_rename(old, new), ==, 0);
}

/* `data` is the setting of a machine with rails, or NULL. */
static void setup(Fixture *f, gconstpointer data)
{
	f->machine = data ? test_machine_new("rails", data) : test_machine_new_empty();
	if (!data)
		add_device(f, "rxe0");
	f->loop = rdmad_loop_new();
	f->workers = rdmad_workers_new(f->loop, 1, NULL);
	f->event_log = rdmad_event_log_new(f->loop);
	f->attributes = rdmad_attributes_new(f->loop);
	f->inventory = rdmad_inventory_new(f->loop, f->event_log);
	f->hw = rdmad_hardware_new(f->loop, f->workers, f->machine->root, f->inventory,
				   f->attributes, f->event_log);
	f->kinds = g_string_new(NULL);
	f->opened = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_hardware_free(f->hw);
	rdmad_inventory_free(f->inventory);
	rdmad_attributes_free(f->attributes);
	rdmad_event_log_free(f->event_log);
	rdmad_workers_free(f->workers);
	/* A scan may have used it until now. */
	fault.opened = NULL;
	test_machine_free(f->machine);
	rdmad_loop_free(f->loop);
	g_string_free(f->kinds, TRUE);
	g_string_free(f->opened, TRUE);
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

	rdmad_event_arm(limit, 60000);
	while (!happened(f, kind))
		rdmad_loop_turn(f->loop);
}

static void test_the_first_scan_has_ended_when_start_returns(Fixture *f, gconstpointer data)
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

static void test_a_failed_scan_is_retried_without_a_hint(Fixture *f, gconstpointer data)
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

/* Retries come 1 and 3 s after the first failure; the next one would come after 7 s. */
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

static void test_a_running_scan_does_not_outlive_its_service(Fixture *f, gconstpointer data)
{
	start(f);
	rdmad_hardware_hint(f->hw);
	g_usleep((RDMAD_COALESCE_MS + 10) * 1000);
	rdmad_loop_turn(f->loop);
	/* teardown frees it while the job runs */
}

static void test_without_a_sysfs_there_is_no_start(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	rename_sys(f, "sys", "away");
	g_assert_false(rdmad_hardware_start(f->hw, &error));
	g_assert_nonnull(error);
}

static void test_an_unreadable_device_is_kept_and_scanned_again(Fixture *f, gconstpointer data)
{
	start(f);
	fault.errnum = EMFILE;
	fault.path = "infiniband/rxe0";
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "scan-incomplete");
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 1);
	g_assert_cmpuint(rdmad_inventory_nth(f->inventory, 0)->stale, ==, 1);
	fault.path = NULL;
	run_until_happened(f, "scan-recovered");
	g_assert_cmpuint(rdmad_inventory_nth(f->inventory, 0)->stale, ==, 0);
	g_assert_false(happened(f, "device-removed"));
}

/* ---- one device of several ---- */

static const RdmadDevice *device(Fixture *f, guint i)
{
	return rdmad_inventory_nth(f->inventory, i);
}

static int state(Fixture *f, guint i)
{
	return device(f, i)->ports[0].state;
}

static void set_state(Fixture *f, guint i, const char *text)
{
	g_autofree char *path = g_build_filename(f->machine->dir, "sys/class/infiniband",
						 device(f, i)->name, "ports/1/state", NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void run_until_state(Fixture *f, guint i, int wanted)
{
	g_autoptr(RdmadEvent) limit =
		rdmad_loop_add_timer(f->loop, NULL, too_late, (gpointer) "a port's state");

	rdmad_event_arm(limit, 60000);
	while (state(f, i) != wanted)
		rdmad_loop_turn(f->loop);
}

/* Sets all ports down, which a scan of their device will find. */
static void start_and_turn_down(Fixture *f)
{
	start(f);
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 3);
	for (guint i = 0; i < 3; i++)
		set_state(f, i, "1: DOWN\n");
	fault.opened = f->opened;
}

static void assert_names_only(Fixture *f, guint which)
{
	g_auto(GStrv) lines = g_strsplit(f->opened->str, "\n", -1);

	/* The directories of the device, its function and its interface, and what is found by a
	 * whole path. */
	g_assert_cmpuint(g_strv_length(lines), >, 5);
	for (guint i = 0; lines[i] && *lines[i]; i++) {
		const RdmadDevice *dev = device(f, which);

		if (!strstr(lines[i], dev->name) && !strstr(lines[i], dev->pci_address) &&
		    !strstr(lines[i], dev->netdevs[0].name))
			g_error("of another device: %s", lines[i]);
	}
}

static void test_a_hint_for_a_device_reads_no_other(Fixture *f, gconstpointer data)
{
	const RdmadDevice *first;

	start_and_turn_down(f);
	rdmad_inventory_set_fatal(f->inventory, device(f, 0)->id);
	first = device(f, 0);
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 1)->id));
	run_until_state(f, 1, RDMAD_PORT_DOWN);
	assert_names_only(f, 1);
	g_assert_true(device(f, 0) == first && first->fatal);
	g_assert_cmpint(state(f, 2), ==, RDMAD_PORT_ACTIVE);
	g_assert_cmpuint(device(f, 1)->n_chardevs, ==, first->n_chardevs);
	g_assert_cmpuint(device(f, 1)->ports[0].transitions, ==, 1);
	/* Now all devices. */
	rdmad_hardware_hint(f->hw);
	run_until_state(f, 2, RDMAD_PORT_DOWN);
	g_assert_cmpint(state(f, 0), ==, RDMAD_PORT_DOWN);
	g_assert_cmpuint(device(f, 1)->ports[0].transitions, ==, 1);
	g_assert_true(device(f, 0)->fatal);
}

static void test_a_hint_for_a_device_while_another_is_scanned(Fixture *f, gconstpointer data)
{
	start_and_turn_down(f);
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 1)->id));
	g_usleep((RDMAD_COALESCE_MS + 10) * 1000);
	rdmad_loop_turn(f->loop);
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 2)->id));
	run_until_state(f, 2, RDMAD_PORT_DOWN);
	g_assert_cmpint(state(f, 1), ==, RDMAD_PORT_DOWN);
	g_assert_cmpint(state(f, 0), ==, RDMAD_PORT_ACTIVE);
}

static void test_a_hint_for_no_device_is_none(Fixture *f, gconstpointer data)
{
	start(f);
	g_assert_false(rdmad_hardware_hint_device(f->hw, "0000:00:1f.7"));
}

static void test_a_device_that_moved_causes_a_full_scan(Fixture *f, gconstpointer data)
{
	g_autofree char *path = NULL;

	start_and_turn_down(f);
	path = g_build_filename("sys/class/infiniband", device(f, 1)->name, NULL);
	rename_sys(f, path, "sys/away");
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 1)->id));
	run_until_happened(f, "device-removed");
	/* A scan of all devices has found it. */
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 2);
	g_assert_cmpint(state(f, 0), ==, RDMAD_PORT_DOWN);
}

static void test_a_device_that_cannot_be_read_alone_is_read_with_all(Fixture *f, gconstpointer data)
{
	start_and_turn_down(f);
	fault.errnum = EMFILE;
	fault.path = "ports/1/state";
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 1)->id));
	run_until_happened(f, "scan-incomplete");
	g_assert_cmpuint(device(f, 1)->stale, ==, 1);
	g_assert_cmpint(state(f, 1), ==, RDMAD_PORT_ACTIVE);
	fault.path = NULL;
	run_until_happened(f, "scan-recovered");
	for (guint i = 0; i < 3; i++)
		g_assert_cmpint(state(f, i), ==, RDMAD_PORT_DOWN);
}

/* Hints an interface and device 2, and returns after their scan. */
static void hint_with_another(Fixture *f, const RdmadRouteEvent *event, gboolean active)
{
	for (guint i = 0; i < 3; i++)
		set_state(f, i, active ? "4: ACTIVE\n" : "1: DOWN\n");
	rdmad_hardware_hint_interface(f->hw, event);
	g_assert_true(rdmad_hardware_hint_device(f->hw, device(f, 2)->id));
	run_until_state(f, 2, active ? RDMAD_PORT_ACTIVE : RDMAD_PORT_DOWN);
}

static void test_an_interface_names_its_device_while_it_is_the_one_that_it_was(Fixture *f,
									       gconstpointer data)
{
	enum { NONE, ONE, ALL };
	g_autoptr(RdmadDeviceRef) before = NULL;
	RdmadLink as_it_was, renamed, moved, thief;
	RdmadLink above = { .name = (char *)"bond7" };
	RdmadLink vlan = { .name = (char *)"eth0.7", .kind = (char *)"vlan" };
	RdmadLink veth = { .name = (char *)"veth7", .kind = (char *)"veth" };
	RdmadLink down = { .name = (char *)"br7", .kind = (char *)"bridge" };
	RdmadLink bridge = down, enslaved = down, with_port;
	struct {
		RdmadRouteEvent event; /* ifindex 0: of device 1 */
		int scanned;
	} cases[] = {
		{ { 0, NULL, FALSE }, ONE },	       { { 0, &as_it_was, FALSE }, ONE },
		{ { 0, &renamed, FALSE }, ALL },       { { 0, &moved, FALSE }, ALL },
		{ { 0, &as_it_was, TRUE }, ALL },      { { 9999, NULL, FALSE }, ALL },
		{ { 9999, &above, FALSE }, ALL },      { { 7777, &vlan, FALSE }, ALL },
		{ { 7777, NULL, FALSE }, ALL },	       { { 7777, &veth, FALSE }, NONE },
		{ { 7777, NULL, FALSE }, NONE },       { { 0, &as_it_was, FALSE }, ONE },
		{ { 7777, &thief, FALSE }, ALL },      { { 7777, &veth, TRUE }, NONE },
		{ { 7777, NULL, FALSE }, ALL },	       { { 7777, &veth, FALSE }, NONE },
		{ { 7777, &vlan, FALSE }, ALL },       { { 7777, NULL, FALSE }, ALL },
		{ { 6666, &bridge, FALSE }, ALL },     { { 6666, &bridge, FALSE }, NONE },
		{ { 6666, &with_port, FALSE }, NONE }, { { 6666, NULL, FALSE }, ALL },
		{ { 6666, &down, FALSE }, ALL },       { { 6666, &enslaved, FALSE }, ALL },
		{ { 6666, &enslaved, FALSE }, NONE },  { { 6666, &enslaved, TRUE }, ALL },
		{ { 6666, &enslaved, FALSE }, ALL },   { { 5555, &bridge, FALSE }, ALL },
	};

	start(f);
	before = rdmad_device_ref(device(f, 1));
	as_it_was = renamed = moved =
		(RdmadLink){ .name = before->netdevs[0].name, .mac = before->netdevs[0].mac };
	renamed.name = (char *)"other0";
	moved.mac = (char *)"02:00:00:00:00:01";
	bridge.up = TRUE;
	with_port = bridge;
	with_port.mac = (char *)"02:00:00:00:00:07";
	with_port.operstate = "up";
	enslaved.master = 3;
	thief = veth;
	thief.name = before->netdevs[0].name;
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %u", i);
		if (!cases[i].event.ifindex)
			cases[i].event.ifindex = before->netdevs[0].ifindex;
		hint_with_another(f, &cases[i].event, i % 2);
		g_assert_cmpint(state(f, 1) == state(f, 2), ==, cases[i].scanned != NONE);
		g_assert_cmpint(state(f, 0) == state(f, 2), ==, cases[i].scanned == ALL);
		if (cases[i].scanned == ALL)
			continue;
		rdmad_hardware_hint(f->hw);
		run_until_state(f, 0, state(f, 2));
	}
}

/* A device is made on top of a veth, and the veth changes during the scan that finds the device. */
static void test_a_stranger_that_gets_a_device_in_a_scan_is_scanned_again(Fixture *f,
									  gconstpointer data)
{
	RdmadLink veth = { .name = (char *)"veth7", .kind = (char *)"veth" };
	RdmadRouteEvent event = { .link = &veth };
	g_autofree char *path = NULL, *state_file = NULL;

	start(f);
	event.ifindex = device(f, 1)->netdevs[0].ifindex;
	path = g_build_filename("sys/class/infiniband", device(f, 1)->name, NULL);
	state_file = g_build_filename(f->machine->dir, path, "ports/1/state", NULL);
	rename_sys(f, path, "sys/away");
	rdmad_hardware_hint(f->hw);
	run_until_happened(f, "device-removed");
	rename_sys(f, "sys/away", path);
	rdmad_hardware_hint(f->hw);
	g_usleep((RDMAD_COALESCE_MS + 10) * 1000);
	rdmad_loop_turn(f->loop);
	/* A scan that has read the state by now delivers it on the next turn of the loop. */
	g_usleep(100000);
	g_assert_cmpuint(rdmad_inventory_count(f->inventory), ==, 2);
	rdmad_hardware_hint_interface(f->hw, &event);
	g_assert_true(g_file_set_contents(state_file, "1: DOWN\n", -1, NULL));
	run_until_state(f, 1, RDMAD_PORT_DOWN);
}

#define TEST(name) UNIT_FIXTURE_TEST("/scanner/" #name, Fixture, NULL, setup, test_##name, teardown)
#define TEST_OF_RAILS(name)                                                                        \
	UNIT_FIXTURE_TEST("/scanner/" #name, Fixture, "RAILS=3", setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_first_scan_has_ended_when_start_returns),
	TEST(a_recorded_machine_has_no_verbs),
	TEST(a_hint_finds_what_has_come),
	TEST(what_was_known_stays_when_a_look_fails),
	TEST(an_unreadable_device_is_kept_and_scanned_again),
	TEST(a_failed_scan_is_retried_without_a_hint),
	TEST(a_hint_does_not_wait_for_the_next_try),
	TEST(a_running_scan_does_not_outlive_its_service),
	TEST(without_a_sysfs_there_is_no_start),
	TEST_OF_RAILS(a_hint_for_a_device_reads_no_other),
	TEST_OF_RAILS(a_hint_for_a_device_while_another_is_scanned),
	TEST_OF_RAILS(a_hint_for_no_device_is_none),
	TEST_OF_RAILS(a_device_that_moved_causes_a_full_scan),
	TEST_OF_RAILS(a_device_that_cannot_be_read_alone_is_read_with_all),
	TEST_OF_RAILS(an_interface_names_its_device_while_it_is_the_one_that_it_was),
	TEST_OF_RAILS(a_stranger_that_gets_a_device_in_a_scan_is_scanned_again),
	{ 0 },
};
