/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of a recorded machine in which any one call fails */
#include <rdmad/device.h>
#include <string.h>

#include "hardware/device.h"
#include "hardware/scan/scan.h"

#include "failing-calls.h"
#include "machine.h"
#include "../support/unit.h"

static RdmadScan *scan_after(const TestMachine *machine, const RdmadScan *before)
{
	fault.count = 0;
	return rdmad_scan_sysfs_again(machine->root, before ? before->devices : NULL, NULL, NULL);
}

static const RdmadDevice *device_named(const RdmadScan *scan, const char *name)
{
	for (guint i = 0; i < scan->devices->len; i++)
		if (!strcmp(((RdmadDevice *)scan->devices->pdata[i])->name, name))
			return scan->devices->pdata[i];
	return NULL;
}

/* New or kept, the device is as it was. */
static void expect_same(const RdmadDevice *now, const RdmadDevice *before, guint at)
{
	RdmadDevice *plain;

	if (!now)
		g_error("%s went with call %u", before->name, at);
	plain = rdmad_device_copy(now);
	plain->stale = 0;
	if (now->stale) {
		g_assert_true(now->problems && *now->problems);
		g_strfreev(plain->problems);
		plain->problems = g_strdupv(before->problems);
	}
	if (!rdmad_device_equal(plain, before))
		g_error("%s changed with call %u", before->name, at);
	rdmad_device_unref(plain);
}

static void test_no_single_failure_changes_a_device(gconstpointer data)
{
	static const int errnums[] = { EMFILE, EIO, ENOMEM, EPERM, ENOSPC };
	g_autoptr(TestMachine) machine = test_machine_new(data, "LAST=1");
	g_autoptr(RdmadScan) before = scan_after(machine, NULL);
	const guint calls = fault.count;
	const guint step = g_getenv("RDMAD_TEST_SLOW") ? 1 : 4;
	guint whole = 0, stale = 0;

	for (fault.at = 1; fault.at <= calls; fault.at += step) {
		g_autoptr(RdmadScan) scan = NULL;

		fault.errnum = errnums[fault.at / step % G_N_ELEMENTS(errnums)];
		scan = scan_after(machine, before);
		whole += !scan;
		if (!scan)
			continue;
		stale += scan->n_stale > 0;
		g_assert_cmpuint(scan->devices->len, ==, before->devices->len);
		for (guint i = 0; i < before->devices->len; i++) {
			const RdmadDevice *dev = before->devices->pdata[i];

			expect_same(device_named(scan, dev->name), dev, fault.at);
		}
		if (!scan->gpus_unseen)
			g_assert_cmpuint(scan->gpus->len, ==, before->gpus->len);
	}
	fault.at = 0;
	g_test_message("%u calls: %u scans failed, %u had a stale device", calls, whole, stale);
	g_assert_cmpuint(stale, >, 0);
}

static const struct {
	const char *path;
	int errnum;
	gboolean stays;
} first_doubts[] = {
	{ "infiniband/mlx5_0", EMFILE, TRUE },	{ "infiniband/mlx5_0", EIO, TRUE },
	{ "infiniband/mlx5_0", ENOMEM, TRUE },	{ "infiniband/mlx5_0", EINTR, TRUE },
	{ "infiniband/mlx5_0", EPERM, TRUE },	{ "infiniband/mlx5_0", ENOSPC, TRUE },
	{ "infiniband/mlx5_0", ENOENT, FALSE }, { "infiniband/mlx5_0", ENODEV, FALSE },
};

static void test_only_what_is_not_there_is_gone(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=2");
	g_autoptr(RdmadScan) before = scan_after(machine, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(first_doubts); i++) {
		g_autoptr(RdmadScan) scan = NULL;
		const RdmadDevice *dev;

		fault.path = first_doubts[i].path;
		fault.errnum = first_doubts[i].errnum;
		scan = scan_after(machine, before);
		fault.path = NULL;
		dev = device_named(scan, "mlx5_0");
		g_assert_cmpint(dev != NULL, ==, first_doubts[i].stays);
		g_assert_cmpuint(scan->n_stale, ==, first_doubts[i].stays);
		if (dev)
			g_assert_cmpuint(dev->stale, ==, 1);
		g_assert_cmpuint(device_named(scan, "mlx5_1")->stale, ==, 0);
	}
}

/* Returns how many scans keep the previous snapshot while `errnum` persists; 20: all scans of the
 * test. */
static guint scans_until_accepted(const char *path, int errnum)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=2");
	RdmadScan *before = scan_after(machine, NULL);
	guint n;

	fault.path = path;
	fault.errnum = errnum;
	for (n = 0; n < 20; n++) {
		RdmadScan *scan = scan_after(machine, before);
		const guint stale = scan->n_stale;

		rdmad_scan_free(before);
		before = scan;
		if (!stale)
			break;
	}
	if (n < 20) { /* and stays accepted */
		g_autoptr(RdmadScan) scan = scan_after(machine, before);

		g_assert_cmpuint(scan->n_stale, ==, 0);
		g_assert_cmpuint(device_named(scan, "mlx5_0")->stale, ==, 0);
		g_assert_true(*device_named(scan, "mlx5_0")->problems);
	}
	fault.path = NULL;
	rdmad_scan_free(before);
	return n;
}

static void test_a_broken_attribute_does_not_hold_the_others_for_ever(void)
{
	g_assert_cmpuint(scans_until_accepted("infiniband/mlx5_0/fw_ver", EIO), ==, 5);
	g_assert_cmpuint(scans_until_accepted("infiniband/mlx5_0/fw_ver", EPERM), ==, 5);
	g_assert_cmpuint(scans_until_accepted("infiniband/mlx5_0/fw_ver", EMFILE), ==, 20);
	g_assert_cmpuint(scans_until_accepted("infiniband/mlx5_0", EIO), ==, 20);
}

/* Slots are named by the ID: a change would take them away from pods. */
static void test_a_device_without_a_place_is_not_shown_by_another_id(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=2");
	g_autoptr(RdmadScan) first = NULL, second = NULL;
	const RdmadDevice *dev;

	fault.path = "infiniband/mlx5_0";
	fault.errnum = EMFILE;
	first = scan_after(machine, NULL);
	fault.path = NULL;
	g_assert_null(device_named(first, "mlx5_0"));
	g_assert_cmpuint(first->n_stale, ==, 1);
	second = scan_after(machine, first);
	dev = device_named(second, "mlx5_0");
	g_assert_cmpstr(dev->id, ==, dev->pci_address);
	g_assert_cmpuint(second->n_stale, ==, 0);
}

static void test_what_was_never_seen_is_shown_as_far_as_it_is(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=2");
	g_autoptr(RdmadScan) first = NULL, second = NULL;

	fault.path = "infiniband/mlx5_0/fw_ver";
	fault.errnum = EIO;
	first = scan_after(machine, NULL);
	g_assert_cmpuint(first->n_stale, ==, 1);
	g_assert_cmpuint(device_named(first, "mlx5_0")->stale, ==, 1);
	second = scan_after(machine, first);
	g_assert_cmpuint(second->n_stale, ==, 0);
	fault.path = NULL;
}

const UnitTest unit_tests[] = {
	UNIT_DATA_TEST("/scan-doubt/no_single_failure_changes_a_device/gpu-8rail", "gpu-8rail",
		       test_no_single_failure_changes_a_device),
	UNIT_DATA_TEST("/scan-doubt/no_single_failure_changes_a_device/sriov", "sriov",
		       test_no_single_failure_changes_a_device),
	UNIT_TEST("/scan-doubt/a_device_without_a_place_is_not_shown_by_another_id",
		  test_a_device_without_a_place_is_not_shown_by_another_id),
	UNIT_TEST("/scan-doubt/only_what_is_not_there_is_gone",
		  test_only_what_is_not_there_is_gone),
	UNIT_TEST("/scan-doubt/a_broken_attribute_does_not_hold_the_others_for_ever",
		  test_a_broken_attribute_does_not_hold_the_others_for_ever),
	UNIT_TEST("/scan-doubt/what_was_never_seen_is_shown_as_far_as_it_is",
		  test_what_was_never_seen_is_shown_as_far_as_it_is),
	{ 0 },
};
