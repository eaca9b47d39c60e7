/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/loop.h>

#include "base/loop.h"
#include "hardware/device.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"
#include "../support/turns.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadInventory *inv;
	Turns turns;
	GString *seen; /* "+id", "-id", "~id" and ";" when settled */
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->event_log = rdmad_event_log_new(f->loop);
	f->inv = rdmad_inventory_new(f->loop, f->event_log);
	turns_init(&f->turns, f->loop);
	f->seen = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_string_free(f->seen, TRUE);
	turns_clear(&f->turns);
	rdmad_inventory_free(f->inv);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
}

static void see_added(const RdmadDevice *dev, gpointer data)
{
	g_string_append_printf(((Fixture *)data)->seen, "+%s ", dev->id);
}

static void see_removed(const RdmadDevice *dev, gpointer data)
{
	g_string_append_printf(((Fixture *)data)->seen, "-%s ", dev->id);
}

static void see_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	g_assert_cmpstr(before->id, ==, now->id);
	g_assert_false(rdmad_device_equal(before, now));
	g_string_append_printf(((Fixture *)data)->seen, "~%s ", now->id);
}

static void see_settled(gpointer data)
{
	g_string_append_c(((Fixture *)data)->seen, ';');
}

static const RdmadInventoryOps see = { see_added, see_changed, see_removed, see_settled };

/* Runs the loop and compares what the watchers got. */
static void expect(Fixture *f, const char *seen)
{
	turns_run(&f->turns);
	g_assert_cmpstr(f->seen->str, ==, seen);
	g_string_truncate(f->seen, 0);
}

/* "id" or "id=firmware", separated by blanks; "" is none. */
static GPtrArray *devices_parse(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	GPtrArray *devices = g_ptr_array_new();

	for (char **word = words; *word && **word; word++) {
		g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
		RdmadDevice *dev = rdmad_device_new(parts[0], parts[0]);

		dev->index = 7;
		dev->firmware = g_strdup(parts[1]);
		g_ptr_array_add(devices, dev);
	}
	return devices;
}

static void scan(Fixture *f, const char *devices)
{
	rdmad_inventory_replace(f->inv, devices_parse(devices), g_ptr_array_new());
}

static void test_devices_are_found_in_natural_order(Fixture *f, gconstpointer data)
{
	scan(f, "mlx5_10 mlx5_2 mlx5_0");
	g_assert_cmpuint(rdmad_inventory_count(f->inv), ==, 3);
	g_assert_cmpstr(rdmad_inventory_nth(f->inv, 0)->id, ==, "mlx5_0");
	g_assert_cmpstr(rdmad_inventory_nth(f->inv, 1)->id, ==, "mlx5_2");
	g_assert_cmpstr(rdmad_inventory_nth(f->inv, 2)->id, ==, "mlx5_10");
	g_assert_true(rdmad_inventory_lookup(f->inv, "mlx5_2") == rdmad_inventory_nth(f->inv, 1));
	g_assert_true(rdmad_inventory_lookup_name(f->inv, "mlx5_10") ==
		      rdmad_inventory_nth(f->inv, 2));
	g_assert_null(rdmad_inventory_lookup(f->inv, "mlx5_1"));
	g_assert_null(rdmad_inventory_lookup_name(f->inv, "mlx5_1"));
}

/* Most events concern something else: scans without a change must not accumulate memory. */
static void test_scans_without_news_keep_nothing(Fixture *f, gconstpointer data)
{
	scan(f, "a");
	expect(f, "");
	for (guint i = 0; i < 100; i++)
		scan(f, "a");
	expect(f, "");
	/* The references of the list, and of the watchers' list. */
	g_assert_cmpint(rdmad_inventory_nth(f->inv, 0)->refs, <=, 2);
}

typedef struct {
	const char *before, *now, *seen;
} Step;

static void test_a_scan_reports_its_changes(Fixture *f, gconstpointer data)
{
	static const Step steps[] = {
		{ "", "a", "+a ;" },	     { "a b", "a b", "" },
		{ "a b", "", "-a -b ;" },    { "a b c", "b=2 d", "-a -c ~b +d ;" },
		{ "b", "a b c", "+a +c ;" }, { "a=1 b=1", "a=2 b=1", "~a ;" },
	};
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &see, f);

	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		scan(f, steps[i].before);
		turns_run(&f->turns);
		g_string_truncate(f->seen, 0);
		scan(f, steps[i].now);
		g_assert_cmpstr(f->seen->str, ==, "");
		expect(f, steps[i].seen);
	}
}

static void test_a_new_watch_gets_the_existing_items(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) first G_GNUC_UNUSED = NULL;
	g_autoptr(RdmadWatch) second G_GNUC_UNUSED = NULL;

	scan(f, "a b");
	first = rdmad_inventory_watch(f->inv, NULL, &see, f);
	expect(f, "+a +b ;");
	second = rdmad_inventory_watch(f->inv, NULL, &see, f);
	expect(f, "+a +b ;");
}

static void test_nothing_is_settled_before_the_first_scan(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &see, f);

	expect(f, "");
	scan(f, "");
	expect(f, ";");
	scan(f, "");
	expect(f, "");
}

static void test_scans_of_one_turn_are_reported_as_one(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &see, f);

	scan(f, "a");
	scan(f, "b");
	scan(f, "b=2 c");
	expect(f, "+b +c ;");
}

static void test_what_did_not_change_stays_the_same_object(Fixture *f, gconstpointer data)
{
	const RdmadDevice *a;

	scan(f, "a b");
	a = rdmad_inventory_lookup(f->inv, "a");
	scan(f, "a b=2");
	g_assert_true(rdmad_inventory_lookup(f->inv, "a") == a);
}

static void test_a_borrowed_device_lasts_for_the_turn(Fixture *f, gconstpointer data)
{
	const RdmadDevice *a;

	scan(f, "a");
	a = rdmad_inventory_lookup(f->inv, "a");
	scan(f, "");
	scan(f, "b");
	g_assert_cmpstr(a->id, ==, "a");
}

static void test_a_device_named_twice_is_held_once(Fixture *f, gconstpointer data)
{
	scan(f, "a b a");
	g_assert_cmpuint(rdmad_inventory_count(f->inv), ==, 2);
}

static void test_fatal_holds_until_the_device_is_there_again(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &see, f);
	g_autoptr(GPtrArray) other = NULL;

	scan(f, "a b");
	expect(f, "+a +b ;");
	rdmad_inventory_set_fatal(f->inv, "b");
	rdmad_inventory_set_fatal(f->inv, "b");
	rdmad_inventory_set_fatal(f->inv, "nobody");
	g_assert_true(rdmad_inventory_lookup(f->inv, "b")->fatal);
	expect(f, "~b ;");
	scan(f, "a b");
	g_assert_true(rdmad_inventory_lookup(f->inv, "b")->fatal);
	g_assert_false(rdmad_inventory_lookup(f->inv, "a")->fatal);
	expect(f, "");
	other = devices_parse("a b");
	((RdmadDevice *)g_ptr_array_index(other, 1))->index = 8;
	rdmad_inventory_replace(f->inv, g_steal_pointer(&other), g_ptr_array_new());
	g_assert_false(rdmad_inventory_lookup(f->inv, "b")->fatal);
	expect(f, "~b ;");
}

static void test_fatal_is_forgotten_with_the_device(Fixture *f, gconstpointer data)
{
	scan(f, "a");
	rdmad_inventory_set_fatal(f->inv, "a");
	scan(f, "");
	scan(f, "a");
	g_assert_false(rdmad_inventory_lookup(f->inv, "a")->fatal);
}

static void test_gpus_are_kept_beside(Fixture *f, gconstpointer data)
{
	GPtrArray *gpus = g_ptr_array_new();
	RdmadGpu *gpu = g_new0(RdmadGpu, 1);

	gpu->pci_address = g_strdup("0000:19:00.0");
	g_ptr_array_add(gpus, gpu);
	rdmad_inventory_replace(f->inv, devices_parse("a"), gpus);
	g_assert_cmpuint(rdmad_inventory_gpu_count(f->inv), ==, 1);
	g_assert_cmpstr(rdmad_inventory_gpu(f->inv, 0)->pci_address, ==, "0000:19:00.0");
}

static void look_again(const RdmadDevice *dev, gpointer data)
{
	Fixture *f = data;

	see_added(dev, f);
	if (g_str_equal(dev->id, "a"))
		scan(f, "b");
}

static void test_a_scan_from_a_callback_is_reported_later(Fixture *f, gconstpointer data)
{
	static const RdmadInventoryOps ops = { .added = look_again,
					       .removed = see_removed,
					       .settled = see_settled };
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &ops, f);

	scan(f, "a z");
	expect(f, "+a +z ;-a -z +b ;");
}

static void kinds_collect(const RdmadEventLogEntry *entry, gpointer data)
{
	g_string_append_printf(data, "%s %s: %s\n", entry->device, entry->kind, entry->message);
}

static GPtrArray *one_port(int state, guint n_gids)
{
	GPtrArray *devices = devices_parse("a");
	RdmadDevice *dev = g_ptr_array_index(devices, 0);

	dev->ports = g_new0(RdmadPort, 1);
	dev->n_ports = 1;
	dev->ports[0].number = 1;
	dev->ports[0].state = state;
	dev->ports[0].n_gids = n_gids;
	dev->ports[0].gids = g_new0(RdmadGid, n_gids);
	return devices;
}

static void test_the_event_log_has_the_changes(Fixture *f, gconstpointer data)
{
	g_autoptr(GString) said = g_string_new(NULL);

	rdmad_inventory_replace(f->inv, one_port(RDMAD_PORT_ACTIVE, 2), g_ptr_array_new());
	rdmad_inventory_replace(f->inv, one_port(RDMAD_PORT_DOWN, 0), g_ptr_array_new());
	rdmad_inventory_set_fatal(f->inv, "a");
	rdmad_inventory_replace(f->inv, g_ptr_array_new(), g_ptr_array_new());
	rdmad_event_log_foreach(f->event_log, 0, kinds_collect, said);
	g_assert_cmpstr(said->str, ==,
			"a device-added: a (driver unknown), 1 port\n"
			"a port-state: a port 1: active -> down\n"
			"a gid-table: a port 1: GID table changed, 2 -> 0 entries\n"
			"a device-fatal: a: its driver reports a fatal error\n"
			"a device-removed: a\n");
}

/* The kernel has added the device again between two scans, with another index. */
static void test_a_device_that_came_back_has_not_flapped(Fixture *f, gconstpointer data)
{
	g_autoptr(GString) said = g_string_new(NULL);
	GPtrArray *again = one_port(RDMAD_PORT_ACTIVE, 0);

	rdmad_inventory_replace(f->inv, one_port(RDMAD_PORT_ACTIVE, 0), g_ptr_array_new());
	rdmad_inventory_begin_scan(f->inv);
	rdmad_inventory_port_event(f->inv, "a", 1, FALSE);
	rdmad_inventory_port_event(f->inv, "a", 1, TRUE);
	rdmad_inventory_begin_scan(f->inv);
	rdmad_inventory_replace(f->inv, one_port(RDMAD_PORT_ACTIVE, 0), g_ptr_array_new());
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 2);
	((RdmadDevice *)g_ptr_array_index(again, 0))->index++;
	rdmad_inventory_replace(f->inv, again, g_ptr_array_new());
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 0);
	rdmad_event_log_foreach(f->event_log, 0, kinds_collect, said);
	g_assert_cmpstr(
		said->str, ==,
		"a device-added: a (driver unknown), 1 port\n"
		"a port-flap: a port 1: went down and came back, 2 changes between two scans\n"
		"a device-changed: a\n");
}

static void look_at_port(Fixture *f, int state)
{
	rdmad_inventory_begin_scan(f->inv);
	rdmad_inventory_replace(f->inv, one_port(state, 0), g_ptr_array_new());
}

static void told(Fixture *f, const char *events)
{
	for (const char *c = events; *c; c++)
		rdmad_inventory_port_event(f->inv, "a", 1, *c == '+');
}

static void test_a_port_that_is_again_as_it_was_is_news_when_it_flapped(Fixture *f,
									gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = rdmad_inventory_watch(f->inv, NULL, &see, f);

	look_at_port(f, RDMAD_PORT_ACTIVE);
	expect(f, "+a ;");
	told(f, "-+");
	look_at_port(f, RDMAD_PORT_ACTIVE);
	expect(f, "~a ;");
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 2);
	look_at_port(f, RDMAD_PORT_ACTIVE);
	expect(f, "");
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 2);
}

static void test_the_event_log_has_changes_between_two_turns(Fixture *f, gconstpointer data)
{
	g_autoptr(GString) said = g_string_new(NULL);

	look_at_port(f, RDMAD_PORT_ACTIVE);
	told(f, "-+-+");
	look_at_port(f, RDMAD_PORT_ACTIVE);
	told(f, "-+-");
	look_at_port(f, RDMAD_PORT_DOWN);
	told(f, "+-");
	look_at_port(f, RDMAD_PORT_DOWN);
	told(f, "+");
	look_at_port(f, RDMAD_PORT_ACTIVE);
	rdmad_event_log_foreach(f->event_log, 0, kinds_collect, said);
	g_assert_cmpstr(
		said->str, ==,
		"a device-added: a (driver unknown), 1 port\n"
		"a port-flap: a port 1: went down and came back, 4 changes between two scans\n"
		"a port-state: a port 1: active -> down\n"
		"a port-flap: a port 1: went up and down, 3 changes between two scans\n"
		"a port-flap: a port 1: came up and went down again, 2 changes between two "
		"scans\n"
		"a port-state: a port 1: down -> active\n");
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 10);
}

static void test_events_of_missing_ports_are_ignored(Fixture *f, gconstpointer data)
{
	rdmad_inventory_port_event(f->inv, "a", 1, TRUE);
	look_at_port(f, RDMAD_PORT_ACTIVE);
	rdmad_inventory_port_event(f->inv, "a", 2, FALSE);
	rdmad_inventory_port_event(f->inv, "b", 1, FALSE);
	look_at_port(f, RDMAD_PORT_ACTIVE);
	g_assert_cmpuint(rdmad_inventory_lookup(f->inv, "a")->ports[0].transitions, ==, 0);
}

static void see_scanned(gpointer data)
{
	g_string_append_c(((Fixture *)data)->seen, '!');
}

static const RdmadScanOps see_scans = { see_scanned };

static void test_scans_without_changes_are_reported_to_their_watchers(Fixture *f,
								      gconstpointer data)
{
	G_GNUC_UNUSED g_autoptr(RdmadWatch) watch =
		rdmad_inventory_watch(f->inv, SOME_MODULE, &see, f);
	G_GNUC_UNUSED g_autoptr(RdmadWatch) scans =
		rdmad_inventory_watch_scans(f->inv, SOME_MODULE, &see_scans, f);
	g_autoptr(RdmadWatch) late = NULL;

	expect(f, "");
	rdmad_inventory_replace(f->inv, devices_parse("a"), NULL);
	expect(f, "+a ;!");
	rdmad_inventory_replace(f->inv, devices_parse("a"), NULL);
	expect(f, "!");
	rdmad_inventory_set_fatal(f->inv, "a");
	expect(f, "~a ;");
	late = rdmad_inventory_watch_scans(f->inv, SOME_MODULE, &see_scans, f);
	expect(f, "!");
}

static void test_what_a_module_leaves_is_reaped(Fixture *f, gconstpointer data)
{
	(void)!rdmad_inventory_watch(f->inv, SOME_MODULE, &see, f);
	g_assert_cmpuint(rdmad_inventory_reap(f->inv, NULL), ==, 0);
	g_assert_cmpuint(rdmad_inventory_reap(f->inv, SOME_MODULE), ==, 1);
	scan(f, "a");
	expect(f, "");
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/inventory/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(devices_are_found_in_natural_order),
	TEST(scans_without_news_keep_nothing),
	TEST(a_scan_reports_its_changes),
	TEST(a_new_watch_gets_the_existing_items),
	TEST(nothing_is_settled_before_the_first_scan),
	TEST(scans_of_one_turn_are_reported_as_one),
	TEST(what_did_not_change_stays_the_same_object),
	TEST(a_borrowed_device_lasts_for_the_turn),
	TEST(a_device_named_twice_is_held_once),
	TEST(fatal_holds_until_the_device_is_there_again),
	TEST(fatal_is_forgotten_with_the_device),
	TEST(gpus_are_kept_beside),
	TEST(a_scan_from_a_callback_is_reported_later),
	TEST(the_event_log_has_the_changes),
	TEST(a_device_that_came_back_has_not_flapped),
	TEST(a_port_that_is_again_as_it_was_is_news_when_it_flapped),
	TEST(the_event_log_has_changes_between_two_turns),
	TEST(events_of_missing_ports_are_ignored),
	TEST(scans_without_changes_are_reported_to_their_watchers),
	TEST(what_a_module_leaves_is_reaped),
	{ 0 },
};
