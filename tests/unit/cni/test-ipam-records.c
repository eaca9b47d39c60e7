/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam/records.h"

#include <fcntl.h>
#include <rdmad/error.h>
#include <unistd.h>

#include "../scratch.h"
#include "../support/entries.h"
#include "../support/unit.h"

static void test_a_record_outlives_an_error_that_may_pass(void)
{
	static const struct {
		const char *name;
		guint before_failure;
		gboolean is_loop;
	} rows[] = {
		{ "no entry is read", 0, FALSE },
		{ "one entry is read", 1, FALSE },
		{ "the record cannot be opened", G_MAXUINT, TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(Scratch) run_dir = scratch_new();
		g_autofree char *directory = g_build_filename(run_dir, "cni-ipam", NULL);
		g_autofree char *record = g_build_filename(directory, "4000000", NULL);
		g_autoptr(GError) error = NULL;

		g_test_message("%s", rows[i].name);
		g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
		if (rows[i].is_loop)
			g_assert_cmpint(symlink(record, record), ==, 0);
		else
			g_free(scratch_write(directory, "4000000", "1 pid:[1] c\n"));
		entries_before_failure = rows[i].before_failure;
		g_assert_null(cni_ipam_records_open(run_dir, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
		entries_before_failure = G_MAXUINT;
		g_assert_cmpint(faccessat(AT_FDCWD, record, F_OK, AT_SYMLINK_NOFOLLOW), ==, 0);
	}
}

static void test_records_without_a_process_are_removed(void)
{
	static const char *const texts[] = { "", "1", "1 pid:[1] c", "1 pid:[4026531836] c" };
	g_autoptr(Scratch) run_dir = scratch_new();
	g_autofree char *directory = g_build_filename(run_dir, "cni-ipam", NULL);
	CniIpamRecords *records;

	g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *name = g_strdup_printf("%u", 4194304 + i);

		g_free(scratch_write(directory, name, texts[i]));
	}
	records = cni_ipam_records_open(run_dir, NULL);
	g_assert_nonnull(records);
	cni_ipam_records_free(records);
	g_assert_cmpint(g_rmdir(directory), ==, 0);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/cni-ipam-records/error", test_a_record_outlives_an_error_that_may_pass),
	UNIT_TEST("/cni-ipam-records/removed", test_records_without_a_process_are_removed),
	{ 0 },
};
