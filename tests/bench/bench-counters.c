/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-counters ROOT ROUNDS
 *
 * The CPU time that the counters and states of all devices take to read, and that the same files
 * take that are only opened by their absolute path, read and closed.  Prints {"ports", "files",
 * "kept", "reader_us", "unkept_us", "first_us", "baseline_us", "sysfs_kept_us", "sysfs_us"},
 * medians of rounds that alternate; "kept": files that stay open; "unkept": by readers that keep
 * none; "first": by readers that know nothing yet; "sysfs": a file of this machine's own sysfs.
 */
#include <rdmad/counters.h>
#include <rdmad/device.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter-files.h"
#include "hardware/counters/kept-files.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"
#include "samples.h"

#define KEPT_MAX 512u /* as rdmad keeps by default */

static void add_sample(GArray *used, gint64 cpu)
{
	g_array_append_val(used, cpu);
}

/* `budget` NULL: they keep no files. */
static GPtrArray *make_readers(const RdmadSysroot *root, const GPtrArray *devices,
			       RdmadFileBudget *budget)
{
	GPtrArray *readers =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_counter_reader_unref);

	for (guint i = 0; i < devices->len; i++) {
		RdmadCounterReader *reader =
			rdmad_counter_reader_new(root, devices->pdata[i], RDMAD_READ_COUNTERS);

		if (budget)
			rdmad_counter_reader_set_budget(reader, budget);
		g_ptr_array_add(readers, reader);
	}
	return readers;
}

static void read_all(const GPtrArray *readers, guint files, GArray *took)
{
	const gint64 began = counter_files_clock();
	guint n = 0;

	for (guint i = 0; i < readers->len; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadReading) reading =
			rdmad_counter_reader_read(readers->pdata[i], NULL, &error);

		if (!reading)
			g_error("%s", error->message);
		n += reading->n_counters + 3 * reading->n_ports;
	}
	add_sample(took, counter_files_clock() - began);
	if (n != files)
		g_error("%u values of %u files", n, files);
}

static void read_first(const RdmadSysroot *root, const GPtrArray *devices, guint files,
		       GArray *took)
{
	g_autoptr(GPtrArray) readers = make_readers(root, devices, NULL);

	read_all(readers, files, took);
}

/* ---- this machine's own sysfs ---- */

#define SYSFS_DIR    "sys/class/net/lo/statistics"
#define SYSFS_ROUNDS 101

static void read_kept(RdmadKeptFiles *kept, const RdmadSysroot *live, RdmadFileBudget *budget,
		      char *const *names, GArray *took)
{
	const gint64 began = counter_files_clock();
	char text[64];

	if (rdmad_kept_files_begin(kept, live, budget, NULL) != 0)
		g_error(SYSFS_DIR);
	for (guint i = 0; names[i]; i++)
		if (rdmad_kept_files_read(kept, live, i, names[i], text, sizeof(text)) < 0)
			g_error(SYSFS_DIR "/%s", names[i]);
	rdmad_kept_files_end(kept);
	add_sample(took, counter_files_clock() - began);
}

static void measure_sysfs(RdmadFileBudget *budget)
{
	g_autoptr(RdmadSysroot) live = rdmad_sysroot_new_live(NULL);
	g_auto(GStrv) names = live ? rdmad_sysroot_list(live, SYSFS_DIR, NULL) : NULL;
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) kept_took = samples_new();
	g_autoptr(GArray) baseline = samples_new();
	RdmadKeptFiles kept;

	if (!names || !names[0])
		g_error(SYSFS_DIR);
	rdmad_kept_files_init(&kept, g_strdup(SYSFS_DIR));
	rdmad_kept_files_expect(&kept, g_strv_length(names));
	for (guint i = 0; names[i]; i++)
		g_ptr_array_add(files, g_build_filename("/" SYSFS_DIR, names[i], NULL));
	read_kept(&kept, live, budget, names, kept_took);
	g_array_set_size(kept_took, 0);
	for (guint i = 0; i < SYSFS_ROUNDS; i++) {
		read_kept(&kept, live, budget, names, kept_took);
		add_sample(baseline, counter_files_read(files));
	}
	rdmad_kept_files_clear(&kept);
	printf(", \"sysfs_kept_us\": %.3f, \"sysfs_us\": %.3f}\n",
	       samples_percentile(kept_took, 50) / files->len,
	       samples_percentile(baseline, 50) / files->len);
}

static void measure(const RdmadSysroot *root, const GPtrArray *devices, const GPtrArray *files,
		    RdmadFileBudget *budget, guint rounds)
{
	g_autoptr(GPtrArray) readers = make_readers(root, devices, budget);
	g_autoptr(GPtrArray) unkeeping = make_readers(root, devices, NULL);
	g_autoptr(GArray) reads = samples_new();
	g_autoptr(GArray) unkept = samples_new();
	g_autoptr(GArray) first = samples_new();
	g_autoptr(GArray) baseline = samples_new();

	read_all(readers, files->len, reads);
	read_all(unkeeping, files->len, unkept);
	g_array_set_size(reads, 0);
	g_array_set_size(unkept, 0);
	for (guint i = 0; i < rounds; i++) {
		read_all(readers, files->len, reads);
		read_all(unkeeping, files->len, unkept);
		read_first(root, devices, files->len, first);
		add_sample(baseline, counter_files_read(files));
	}
	printf("{\"ports\": %u, \"files\": %u, \"kept\": %u, \"reader_us\": %.1f, "
	       "\"unkept_us\": %.1f, \"first_us\": %.1f, \"baseline_us\": %.1f",
	       devices->len, files->len, rdmad_file_budget_used(budget),
	       samples_percentile(reads, 50), samples_percentile(unkept, 50),
	       samples_percentile(first, 50), samples_percentile(baseline, 50));
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) files = NULL;
	g_autoptr(RdmadScan) found = NULL;
	g_autoptr(RdmadSysroot) root = NULL;
	g_autoptr(RdmadFileBudget) budget = rdmad_file_budget_new(KEPT_MAX);

	if (argc != 3) {
		fputs("usage: bench-counters ROOT ROUNDS\n", stderr);
		return 2;
	}
	root = rdmad_sysroot_new(argv[1], &error);
	found = root ? rdmad_scan_sysfs(root, &error) : NULL;
	if (!found)
		g_error("%s", error->message);
	files = counter_files_new(argv[1], found->devices, FALSE);
	measure(root, found->devices, files, budget, (guint)CLAMP(atoi(argv[2]), 1, 100000));
	measure_sysfs(budget);
	return 0;
}
