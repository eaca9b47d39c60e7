/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every recorded machine is valid, in both formats and with all names */
#include <rdmad/error.h>

#include "exposition-check.h"
#include "hardware/machine.h"
#include "hardware/scan/scan.h"
#include "made-reading.h"
#include "../support/unit.h"

/* Shortens GID tables, whose ends are empty, to save time. */
#define SHORT "LAST=15"

static DeviceSample *device_read(const RdmadSysroot *root, const RdmadDevice *device)
{
	g_autoptr(RdmadCounterReader) reader =
		rdmad_counter_reader_new(root, device, RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS);
	DeviceSample *sample = device_sample_new(device);
	g_autoptr(GError) error = NULL;

	/* A device whose name was made valid is not found by that name. */
	sample->reading = rdmad_counter_reader_read(reader, NULL, &error);
	g_assert_true(!error || g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE));
	return sample;
}

static Snapshot *machine_read(const char *name)
{
	g_autoptr(TestMachine) machine = test_machine_new(name, SHORT);
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(machine->root, NULL);
	Snapshot *snapshot = made_snapshot(NAMES_NATIVE);

	snapshot->what = RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS;
	for (guint i = 0; i < scan->devices->len; i++)
		g_ptr_array_add(snapshot->devices,
				device_read(machine->root, scan->devices->pdata[i]));
	return snapshot;
}

static void test_machine(gconstpointer name)
{
	g_autoptr(Snapshot) snapshot = machine_read(name);

	for (int names = NAMES_NATIVE; names <= NAMES_BOTH; names++) {
		g_autofree char *text = NULL, *open = NULL;

		snapshot->names = (NamesMode)names;
		text = made_text(snapshot, EXPOSITION_TEXT);
		open = made_text(snapshot, EXPOSITION_OPENMETRICS);
		exposition_check(text, strlen(text), EXPOSITION_TEXT);
		exposition_check(open, strlen(open), EXPOSITION_OPENMETRICS);
		g_assert_cmpuint(made_count(text, "\nrdma_device_scrape_success{"), ==,
				 snapshot->devices->len);
	}
}

static void test_every_rail_has_its_counters(void)
{
	g_autoptr(Snapshot) snapshot = machine_read("gpu-8rail");
	const guint rails = snapshot->devices->len;
	g_autofree char *text = NULL;

	g_assert_cmpuint(rails, >=, 8);
	snapshot->names = NAMES_BOTH;
	text = made_text(snapshot, EXPOSITION_TEXT);
	g_assert_cmpuint(made_count(text, "\nrdma_port_receive_bytes_total{"), ==, rails);
	g_assert_cmpuint(made_count(text, "\nrdma_out_of_sequence_total{"), ==, rails);
	g_assert_cmpuint(made_count(text, "\nnode_infiniband_link_downed_total{"), ==, rails);
}

static void test_add(const char *name)
{
	g_autofree char *path = g_strdup_printf("/%s", name);

	g_test_add_data_func_full(path, g_strdup(name), test_machine, g_free);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/every rail has its counters", test_every_rail_has_its_counters),
	{ 0 },
};

int main(int argc, char **argv)
{
	g_autoptr(GDir) dir = g_dir_open(MACHINES_DIR, 0, NULL);
	const char *file;

	g_test_init(&argc, &argv, NULL);
	while ((file = g_dir_read_name(dir))) {
		g_autofree char *name = g_strndup(file, strcspn(file, "."));

		if (g_str_has_suffix(file, ".machine"))
			test_add(name);
	}
	unit_tests_add();
	return g_test_run();
}
