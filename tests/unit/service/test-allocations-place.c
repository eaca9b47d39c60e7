/* SPDX-License-Identifier: Apache-2.0 */
/* An acknowledged allocation is on the disk, whatever happens to the files of the open database */
#include <errno.h>
#include <rdmad/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../scratch.h"
#include "../support/unit.h"
#include "allocations-fixture.h"
#include "service/state-private.h"

static char *db_path(AllocationsFixture *f, const char *part)
{
	return g_strconcat(f->dir, "/rdmad.db", part, NULL);
}

static void remove_database(AllocationsFixture *f)
{
	g_autofree char *path = db_path(f, "");

	g_assert_cmpint(unlink(path), ==, 0);
}

static void remove_log(AllocationsFixture *f)
{
	g_autofree char *path = db_path(f, "-wal");

	g_assert_cmpint(unlink(path), ==, 0);
}

static void rename_database(AllocationsFixture *f)
{
	g_autofree char *path = db_path(f, ""), *to = db_path(f, ".away");

	g_assert_cmpint(rename(path, to), ==, 0);
}

static void replace_by_a_copy(AllocationsFixture *f)
{
	g_autofree char *path = db_path(f, ""), *copy = db_path(f, ".copy"), *text = NULL;
	gsize size;

	g_assert_true(g_file_get_contents(path, &text, &size, NULL));
	g_assert_true(g_file_set_contents(copy, text, (gssize)size, NULL));
	g_assert_cmpint(rename(copy, path), ==, 0);
}

static void replace_by_garbage(AllocationsFixture *f)
{
	g_autofree char *path = db_path(f, "");

	g_assert_true(g_file_set_contents(path, "no database", -1, NULL)); /* renames */
}

static void remove_directory(AllocationsFixture *f)
{
	scratch_remove(f->dir);
}

static void rename_directory(AllocationsFixture *f)
{
	g_autofree char *to = g_strconcat(f->dir, ".away", NULL);

	g_assert_cmpint(rename(f->dir, to), ==, 0);
}

static void replace_directory(AllocationsFixture *f)
{
	rename_directory(f);
	g_assert_cmpint(mkdir(f->dir, 0700), ==, 0);
}

static const struct {
	const char *name;
	void (*change)(AllocationsFixture *f);
} changes[] = {
	{ "the database is removed", remove_database },
	{ "its log is removed", remove_log },
	{ "the database is renamed", rename_database },
	{ "a copy takes its place", replace_by_a_copy },
	{ "garbage takes its place", replace_by_garbage },
	{ "the directory is removed", remove_directory },
	{ "the directory is renamed", rename_directory },
	{ "an empty directory takes its place", replace_directory },
};

static void expect(AllocationsFixture *f, const char *text)
{
	g_autofree char *now = allocations_fixture_text(f);

	g_assert_cmpstr(now, ==, text);
}

/* The same as the daemon's, see core/daemon/place.h. */
static gboolean keep_directory(gpointer data, GError **error)
{
	const AllocationsFixture *f = data;

	return g_mkdir_with_parents(f->dir, 0700) == 0;
}

static void fixture_open(AllocationsFixture *f)
{
	allocations_fixture_setup(f, NULL);
	rdmad_state_set_keeper(f->state, keep_directory, f);
	g_free(allocations_fixture_must_grant(f, "a"));
	g_free(allocations_fixture_must_grant(f, "b,c"));
}

static void fixture_close(AllocationsFixture *f)
{
	g_autofree char *away = g_strconcat(f->dir, ".away", NULL);

	allocations_fixture_teardown(f, NULL);
	scratch_remove(away);
}

static void test_a_allocation_is_written_where_it_is_looked_for(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
		AllocationsFixture f;

		g_test_message("%s", changes[i].name);
		fixture_open(&f);
		changes[i].change(&f);
		g_free(allocations_fixture_must_grant(&f, "d"));
		expect(&f, "a b,c d");
		g_assert_null(rdmad_allocations_problem(f.allocations));
		allocations_fixture_reopen(&f);
		expect(&f, "a b,c d");
		fixture_close(&f);
	}
}

/* /readyz detects the loss before the next allocation. */
static void test_a_query_for_problems_restores_the_database(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
		AllocationsFixture f;

		g_test_message("%s", changes[i].name);
		fixture_open(&f);
		changes[i].change(&f);
		g_assert_null(rdmad_allocations_problem(f.allocations));
		allocations_fixture_reopen(&f);
		expect(&f, "a b,c");
		fixture_close(&f);
	}
}

static gboolean refuse(gpointer data, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "another rdmad has it");
	return FALSE;
}

/* A rejected allocation is in no database that is restored later. */
static void test_what_cannot_be_written_in_place_is_refused(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *away = NULL;
	AllocationsFixture f;

	fixture_open(&f);
	away = g_strconcat(f.dir, ".away", NULL);
	rdmad_state_set_keeper(f.state, refuse, NULL);
	rename_directory(&f);
	g_assert_null(allocations_fixture_grant(&f, "d", &error));
	g_assert_nonnull(strstr(error->message, "another rdmad has it"));
	g_assert_nonnull(rdmad_allocations_problem(f.allocations));
	expect(&f, "a b,c");
	g_assert_cmpint(rename(away, f.dir), ==, 0);
	rdmad_state_set_keeper(f.state, NULL, NULL);
	g_free(allocations_fixture_must_grant(&f, "e"));
	g_assert_null(rdmad_allocations_problem(f.allocations));
	allocations_fixture_reopen(&f);
	expect(&f, "a b,c e");
	fixture_close(&f);
}

/* Number of the next check of the files that fails; 0: none. */
static guint failing_check;

gboolean __real_rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
					  GError **error);
gboolean __wrap_rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
					  GError **error);

gboolean __wrap_rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
					  GError **error)
{
	if (failing_check == 0 || --failing_check > 0)
		return __real_rdmad_state_file_identify(path, part, file, error);
	return rdmad_error_errno(error, EIO, "%s", path);
}

/* The slots are free even if the rejected allocation is in the database. */
static void test_a_failed_check_refuses_no_later_allocation(void)
{
	for (guint check = 1; check <= 6; check++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadAllocationRef) granted = NULL;
		AllocationsFixture f;

		g_test_message("check %u", check);
		fixture_open(&f);
		failing_check = check;
		granted = allocations_fixture_grant(&f, "d", &error);
		failing_check = 0;
		expect(&f, error ? "a b,c" : "a b,c d");
		g_free(allocations_fixture_must_grant(&f, error ? "d,e" : "e"));
		g_assert_null(rdmad_allocations_problem(f.allocations));
		allocations_fixture_reopen(&f);
		expect(&f, error ? "a b,c d,e" : "a b,c d e");
		fixture_close(&f);
	}
}

/* Damage that is detected while rdmad runs: memory has all of the contents. */
static void test_a_damaged_database_is_written_again(void)
{
	g_autofree char *noise = g_strnfill(4096, '\xff'), *path = NULL, *first = NULL;
	g_autoptr(GError) error = NULL;
	struct stat st;
	AllocationsFixture f;
	FILE *file;

	allocations_fixture_setup(&f, NULL);
	/* More pages than the cache holds. */
	for (guint i = 0; i < 8; i++) {
		g_autoptr(GString) slots = g_string_new(NULL);
		g_autofree char *id = NULL;

		for (guint k = 0; k < 500; k++)
			g_string_append_printf(slots, "%sslot-%u-%04u", k ? "," : "", i, k);
		id = allocations_fixture_must_grant(&f, slots->str);
		if (!first)
			first = g_steal_pointer(&id);
	}
	allocations_fixture_reopen(&f);
	path = db_path(&f, "");
	file = fopen(path, "r+");
	g_assert_cmpint(stat(path, &st), ==, 0);
	for (off_t at = 4096; at < st.st_size; at += 4096) {
		g_assert_cmpint(fseek(file, at, SEEK_SET), ==, 0);
		g_assert_cmpuint(fwrite(noise, 4096, 1, file), ==, 1);
	}
	fclose(file);
	/* A new allocation reads only the last page of the table, and the first one is not in
	 * it. */
	rdmad_allocations_end(f.allocations, first, "test", &error);
	g_assert_no_error(error);
	g_assert_null(rdmad_allocations_problem(f.allocations));
	allocations_fixture_reopen(&f);
	g_assert_cmpuint(rdmad_allocations_count(f.allocations), ==, 7);
	allocations_fixture_teardown(&f, NULL);
}

#define TEST(name) UNIT_TEST("/allocations-place/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_allocation_is_written_where_it_is_looked_for),
	TEST(a_query_for_problems_restores_the_database),
	TEST(what_cannot_be_written_in_place_is_refused),
	TEST(a_failed_check_refuses_no_later_allocation),
	TEST(a_damaged_database_is_written_again),
	{ 0 },
};
