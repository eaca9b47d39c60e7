/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "hardware/device.h"
#include "service/port-history.h"
#include "../support/unit.h"

#define ID "0000:3b:00.0"

/* A device with one port, as a scan finds it. */
static RdmadDevice *device(int index, int state, int carrier_changes, guint n_gids)
{
	RdmadDevice *dev = rdmad_device_new(ID, "mlx5_0");

	dev->index = index;
	dev->n_ports = 1;
	dev->ports = g_new0(RdmadPort, 1);
	dev->ports[0].number = 1;
	dev->ports[0].link_layer = RDMAD_LINK_LAYER_ETHERNET;
	dev->ports[0].state = state;
	dev->ports[0].netdev = g_strdup("eth0");
	dev->ports[0].n_gids = n_gids;
	dev->ports[0].gids = g_new0(RdmadGid, n_gids);
	dev->n_netdevs = 1;
	dev->netdevs = g_new0(RdmadNetdev, 1);
	dev->netdevs[0].name = g_strdup("eth0");
	dev->netdevs[0].carrier_changes = carrier_changes;
	dev->netdevs[0].addresses = g_new0(char *, 1);
	return dev;
}

static int state_of(char letter)
{
	switch (letter) {
	case 'A':
		return RDMAD_PORT_ACTIVE;
	case 'D':
		return RDMAD_PORT_DOWN;
	case 'I':
		return RDMAD_PORT_INIT;
	default:
		return RDMAD_UNKNOWN;
	}
}

/* Ends a scan that found `found`, which replaces `*now`. */
static void scan_end_by(RdmadPortHistory *history, gboolean expects, RdmadDevice **now,
			RdmadDevice *found)
{
	if (expects)
		rdmad_port_history_expect_events(history, ID);
	rdmad_port_history_carry(history, *now, found);
	rdmad_port_history_end_scan(history);
	rdmad_device_unref(*now);
	*now = found;
}

static void scan_end(RdmadPortHistory *history, RdmadDevice **now, RdmadDevice *found)
{
	scan_end_by(history, TRUE, now, found);
}

/* "(" a scan begins, "X" it fails, "S" it reads other devices; other letters are its result, with
 * the number of carrier changes; "+" and "-" are reports. */
static guint64 transitions_of(const char *script)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;
	gboolean looking = FALSE;
	guint64 n;

	for (const char *c = script; *c; c++) {
		if (g_ascii_isdigit(*c))
			continue;
		if (*c == '+' || *c == '-') {
			rdmad_port_history_event(history, ID, 1, *c == '+');
			continue;
		}
		if (!looking)
			rdmad_port_history_begin_scan(history);
		looking = *c == '(';
		if (*c == 'S') {
			rdmad_port_history_skip(history, now);
			rdmad_port_history_end_scan(history);
		} else if (!looking && *c != 'X')
			scan_end(history, &now, device(7, state_of(*c), atoi(c + 1), 0));
	}
	n = now->ports[0].transitions;
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
	return n;
}

static void test_each_change_is_counted_once(void)
{
	static const struct {
		const char *script;
		guint64 transitions;
	} cases[] = {
		/* No reports. */
		{ "AAA", 0 },
		{ "AD", 1 },
		{ "ADA", 2 },
		{ "DIA", 2 },
		/* The report precedes the scan. */
		{ "A-D", 1 },
		{ "A-D+A", 2 },
		{ "A-+A", 2 },
		{ "A-+-D", 3 },
		{ "D+-D", 2 },
		{ "D+-+-D", 4 },
		{ "D+-I", 2 },
		{ "D+A", 1 },
		/* The report is repeated, or is of a known state. */
		{ "A--D", 1 },
		{ "A+A", 0 },
		{ "A++-++A", 2 },
		/* A report is lost or late. */
		{ "A-A", 2 },
		{ "A-+D", 3 },
		{ "AD-D", 1 },
		{ "AD-+A", 2 },
		{ "ADA-+A", 2 },
		{ "ADAD-A+D-D", 5 },
		{ "AD-A+A", 2 },
		{ "ADA-+-+A", 4 },
		/* The report comes during the scan, which may have read before or after the
		 * change. */
		{ "A(-DD", 1 },
		{ "A(-AD", 1 },
		{ "A(-+AA", 2 },
		{ "A(-+DA", 2 },
		{ "A(-+-+DA", 4 },
		{ "A(-+-+AA", 4 },
		{ "A(-+-DD", 3 },
		{ "A(-+-AD", 3 },
		{ "A-(+DA", 2 },
		{ "A-(+AA", 2 },
		/* A scan of other devices. */
		{ "ASD", 1 },
		{ "A-SD", 1 },
		{ "A-S+A", 2 },
		{ "A-S-SD", 1 },
		{ "A(-SD", 1 },
		{ "A-(+SA", 2 },
		/* A scan fails. */
		{ "A-(X+A", 2 },
		{ "A-(+X-D", 3 },
		{ "A-(XD", 1 },
		/* An unreadable state is not a change. */
		{ "AUA", 0 },
		{ "AUD", 1 },
		{ "A-UD", 1 },
		{ "A-+UA", 2 },
		{ "U-D", 1 },
		/* The carrier has more changes, or as many. */
		{ "A10A12", 2 },
		{ "A10-+A12", 2 },
		{ "A10A12-+A12", 2 },
		{ "A10(-+A12A12", 2 },
		{ "A10-+-+A12", 4 },
		{ "A10--++A14", 4 },
		{ "A10-D11", 1 },
		{ "A10A11D11", 1 },
		{ "A10A11-D11", 1 },
		{ "A10A11(-D11D11", 1 },
		{ "A10D10D11", 1 },
		{ "A10-D10+A10A12", 2 },
		{ "A10-D10+A10A14", 4 },
		{ "A10D13-+-D13", 3 },
		{ "A10D13--+D13", 3 },
		{ "A10I11A12", 2 },
		{ "A10A3A3", 0 },
		{ "A10A3A5", 2 },
		/* The first scan has no previous one. */
		{ "-+A", 0 },
		{ "(-+AA", 2 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s", cases[i].script);
		g_assert_cmpuint(transitions_of(cases[i].script), ==, cases[i].transitions);
	}
}

/* A late report counts as another change. */
static void test_a_lost_report_is_given_up(void)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;

	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	scan_end(history, &now, device(7, RDMAD_PORT_DOWN, 0, 0));
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	g_usleep(1100000);
	rdmad_port_history_event(history, ID, 1, FALSE);
	rdmad_port_history_event(history, ID, 1, TRUE);
	rdmad_port_history_begin_scan(history);
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	g_assert_cmpuint(now->ports[0].transitions, ==, 4);
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
}

/* A report in time is not another change, however long the next scan takes. */
static void test_a_slow_scan_counts_nothing_twice(void)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;

	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 10, 0));
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 12, 0));
	rdmad_port_history_event(history, ID, 1, FALSE);
	rdmad_port_history_event(history, ID, 1, TRUE);
	rdmad_port_history_begin_scan(history);
	g_usleep(1100000);
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 12, 0));
	g_assert_cmpuint(now->ports[0].transitions, ==, 2);
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
}

/* A million flaps need no more memory than one. */
static void test_reports_do_not_accumulate_in_memory(void)
{
	g_autofree char *flaps = g_strnfill(2000001, '-');
	g_autofree char *script = NULL;

	for (guint i = 1; i < 2000001; i += 2)
		flaps[i] = '+';
	script = g_strdup_printf("A%sD", flaps);
	g_assert_cmpuint(transitions_of(script), ==, 2000001);
}

/* "A10": active, with this number of carrier changes. */
static guint64 transitions_by_carrier(const char *script, RdmadLinkLayer layer, gboolean expects)
{
	g_auto(GStrv) looks = g_strsplit(script, " ", -1);
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;
	guint64 n;

	for (char **look = looks; *look; look++) {
		RdmadDevice *found = device(7, state_of(**look), atoi(*look + 1), 0);

		found->ports[0].link_layer = layer;
		scan_end_by(history, expects, &now, found);
	}
	n = now->ports[0].transitions;
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
	return n;
}

static void test_where_nobody_tells_the_carrier_is_counted(void)
{
	static const struct {
		const char *script;
		guint64 transitions;
	} cases[] = {
		{ "A10 A10", 0 },
		{ "A10 A12", 2 },
		{ "A10 D13", 3 },
		{ "D7 D11", 4 },
		{ "A10 D10 D11", 1 },
		{ "A10 A11 D11", 1 },
		{ "A10 D10 D11 A12", 2 },
		{ "A10 A13 D13", 3 },
		{ "A10 A2 A4", 2 },
		{ "A-1 A4 A6", 2 },
		{ "A4 A-1", 0 },
		{ "A10 D10", 1 },
		/* The carrier is one change ahead of the state, or one behind it. */
		{ "A10 A49 A50", 40 },
		{ "A10 A11 A12", 2 },
		{ "A10 A11 A12 A13 D13", 3 },
		{ "A10 D10 D11 D13", 3 },
		{ "A10 D10 A12", 2 },
		{ "A10 D10 A10 A10 D11", 3 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s", cases[i].script);
		g_assert_cmpuint(
			transitions_by_carrier(cases[i].script, RDMAD_LINK_LAYER_ETHERNET, FALSE),
			==, cases[i].transitions);
	}
}

/* "uA": the interface is set up in the host, "dA": it is there and not set up, "-A": it is in a
 * pod, "oA": another one is there; "n2uA": with two changes reported before; "H": the device has
 * another holder; "R": it is added again. */
static guint64 flaps_of(const char *script)
{
	g_auto(GStrv) steps = g_strsplit(script, " ", -1);
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;
	int index = 7;
	guint64 n;

	for (char **step = steps; *step; step++) {
		const char *c = *step;
		RdmadDevice *found;

		if (*c == 'H') {
			rdmad_port_history_holder_changed(history, now);
			continue;
		}
		index += *c == 'R';
		c += *c == 'R';
		for (guint i = 0; *c == 'n' && i < (guint)(c[1] - '0'); i++)
			rdmad_port_history_event(history, ID, 1,
						 (now->ports[0].state == RDMAD_PORT_ACTIVE) ==
							 (i % 2));
		c += *c == 'n' ? 2 : 0;
		rdmad_port_history_begin_scan(history);
		found = device(index, state_of(c[1]), 0, 0);
		found->netdevs[0].up = *c != 'd';
		found->netdevs[0].carrier_changes = RDMAD_UNKNOWN;
		found->netdevs[0].ifindex = *c == 'o' ? 9 : 8;
		if (*c == '-')
			g_clear_pointer(&found->ports[0].netdev, g_free);
		scan_end(history, &now, found);
	}
	n = now->ports[0].flaps;
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
	return n;
}

static void test_what_a_pod_does_to_a_port_is_no_flap(void)
{
	static const struct {
		const char *what, *script;
		guint64 flaps;
	} cases[] = {
		{ "a failure", "uA uD", 0 },
		{ "a flap", "uA uD uA", 1 },
		{ "two", "uA uD uA uD uA", 2 },
		{ "the first time up", "uD uA", 0 },
		{ "the second", "uD uA uD uA", 1 },
		{ "between two scans", "uA n2uA", 1 },
		{ "several between two scans", "uA n6uA", 3 },
		{ "it went down, too", "uA n3uD", 1 },
		{ "and came back", "uA n3uD uA", 2 },
		{ "up and down between two scans", "uD n2uD", 0 },
		{ "and up", "uD n2uD uA", 1 },
		{ "through INIT", "uA uI uA", 1 },
		{ "INIT and back", "uD uI uD", 0 },
		{ "an unreadable state", "uA uU uA", 0 },
		{ "an unreadable state, meanwhile down", "uA uD uU uA", 1 },
		{ "the interface is set down and up", "uA dD dD uD uA", 0 },
		{ "in one scan", "uA dD uA", 0 },
		{ "an idle VF gets a pod", "dD -D -A", 0 },
		{ "and the pod ends", "dD -D -A -D dD", 0 },
		{ "in one scan", "dD -A dD", 0 },
		{ "three pods", "dD -A -D dD H -D -A -D dD H -A dD", 0 },
		{ "the link fails while a pod has it", "dD -A -D -A dD", 1 },
		{ "between two scans", "dD n1-A n2-A dD", 1 },
		{ "a NIC moves to a pod and back", "uA n2-A n2uA", 0 },
		{ "with each step seen", "uA dD -D -A -D dD uD uA", 0 },
		{ "it flaps before and after", "uA uD uA -D -A -D uD uA uD uA", 2 },
		{ "the next pod's interface has the name", "uA uD oA", 0 },
		{ "the next pod without a scan between", "-A -D H -A", 0 },
		{ "a holder before a failure", "uA H uD uA", 1 },
		{ "a device that is added again", "uA uD RuA", 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s: %s", cases[i].what, cases[i].script);
		g_assert_cmpuint(flaps_of(cases[i].script), ==, cases[i].flaps);
	}
}

static void test_the_carrier_of_ipoib_is_another_thing(void)
{
	g_assert_cmpuint(transitions_by_carrier("A10 A12", RDMAD_LINK_LAYER_INFINIBAND, FALSE), ==,
			 0);
	g_assert_cmpuint(transitions_by_carrier("A10 A12", RDMAD_LINK_LAYER_INFINIBAND, TRUE), ==,
			 0);
}

static void test_a_device_that_is_there_again_starts_again(void)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;

	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	scan_end(history, &now, device(7, RDMAD_PORT_DOWN, 0, 2));
	g_assert_cmpuint(now->ports[0].transitions, ==, 1);
	g_assert_cmpuint(now->ports[0].gid_changes, ==, 1);
	g_assert_cmpint(now->ports[0].changed_us, >, 0);
	rdmad_port_history_event(history, ID, 1, TRUE);
	rdmad_port_history_begin_scan(history);
	scan_end(history, &now, device(8, RDMAD_PORT_DOWN, 0, 0));
	g_assert_cmpuint(now->ports[0].transitions, ==, 0);
	g_assert_cmpuint(now->ports[0].gid_changes, ==, 0);
	g_assert_cmpint(now->ports[0].changed_us, ==, 0);
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
}

static void test_each_other_gid_table_is_a_change(void)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL, *moved;

	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 2));
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 2));
	g_assert_cmpuint(now->ports[0].gid_changes, ==, 0);
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 1));
	moved = device(7, RDMAD_PORT_ACTIVE, 0, 1);
	moved->ports[0].gids[0].index = 3;
	scan_end(history, &now, moved);
	g_assert_cmpuint(now->ports[0].gid_changes, ==, 2);
	g_assert_cmpuint(now->ports[0].transitions, ==, 0);
	g_assert_cmpint(now->ports[0].changed_us, ==, 0);
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
}

static void test_the_time_of_a_change_is_that_of_its_report(void)
{
	RdmadPortHistory *history = rdmad_port_history_new();
	RdmadDevice *now = NULL;
	gint64 told_us;

	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	rdmad_port_history_event(history, ID, 1, FALSE);
	told_us = g_get_real_time();
	g_usleep(20000);
	rdmad_port_history_begin_scan(history);
	scan_end(history, &now, device(7, RDMAD_PORT_DOWN, 0, 0));
	g_assert_cmpint(now->ports[0].changed_us, <=, told_us);
	/* This change was not reported. */
	scan_end(history, &now, device(7, RDMAD_PORT_ACTIVE, 0, 0));
	g_assert_cmpint(now->ports[0].changed_us, >, told_us);
	rdmad_device_unref(now);
	rdmad_port_history_free(history);
}

#define TEST(name) UNIT_TEST("/port-history/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(each_change_is_counted_once),
	TEST(a_lost_report_is_given_up),
	TEST(a_slow_scan_counts_nothing_twice),
	TEST(reports_do_not_accumulate_in_memory),
	TEST(where_nobody_tells_the_carrier_is_counted),
	TEST(what_a_pod_does_to_a_port_is_no_flap),
	TEST(the_carrier_of_ipoib_is_another_thing),
	TEST(a_device_that_is_there_again_starts_again),
	TEST(each_other_gid_table_is_a_change),
	TEST(the_time_of_a_change_is_that_of_its_report),
	{ 0 },
};
