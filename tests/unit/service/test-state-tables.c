/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/state.h>
#include <string.h>

#include "service/state.h"
#include "../support/unit.h"

#define SOME_MODULE  ((RdmadModule *)0x10)
#define OTHER_MODULE ((RdmadModule *)0x20)

static const char *const first[] = {
	"CREATE TABLE module_test_steps ("
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, what BLOB) STRICT;",
	NULL,
};

static const char *const second[] = {
	"CREATE TABLE module_test_steps ("
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, what BLOB) STRICT;",
	"ALTER TABLE module_test_steps ADD COLUMN done INTEGER NOT NULL DEFAULT 0;",
	NULL,
};

static const char *const broken[] = { "CREATE TABLE module_test_steps (id INTEGER);", "NO SQL;",
				      NULL };

typedef struct {
	char *dir;
	RdmadState *state;
	RdmadTables *tables;
	guint calls, homes, losses;
	gboolean fail;
} Fixture;

static gboolean rewrite(RdmadTables *tables, gpointer data, GError **error);

static const RdmadTablesClass test_class = { "test", first, rewrite };
static const RdmadTablesClass newer_class = { "test", second, rewrite };
static const RdmadTablesClass broken_class = { "test", broken, NULL };

static void open_state(Fixture *f)
{
	g_autoptr(GError) error = NULL;

	f->state = rdmad_state_open(f->dir, NULL, &error);
	g_assert_no_error(error);
}

static void open_tables(Fixture *f, const RdmadTablesClass *klass)
{
	g_autoptr(GError) error = NULL;

	f->tables = rdmad_tables_open(f->state, SOME_MODULE, klass, f, &error);
	g_assert_no_error(error);
}

static void setup(Fixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rdmad-tables-XXXXXX", NULL);
	open_state(f);
	open_tables(f, &test_class);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_autoptr(GDir) dir = g_dir_open(f->dir, 0, NULL);
	const char *name;

	rdmad_tables_close(f->tables);
	rdmad_state_close(f->state);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(f->dir, name, NULL);

		g_remove(path);
	}
	g_rmdir(f->dir);
	g_free(f->dir);
}

static gboolean insert(RdmadTables *tables, const char *name, GError **error)
{
	return rdmad_tables_run(tables,
				"INSERT INTO module_test_steps (name, what) VALUES (?1, ?2)",
				RDMAD_VALUES(RDMAD_TEXT(name), RDMAD_BYTES("\0\1", 2)), error);
}

static gboolean insert_two(RdmadTables *tables, gpointer data, GError **error)
{
	Fixture *f = data;

	f->calls++;
	if (!insert(tables, "one", error) || !insert(tables, "two", error))
		return FALSE;
	if (!f->fail)
		return TRUE;
	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "as it was to");
	return FALSE;
}

static gboolean rewrite(RdmadTables *tables, gpointer data, GError **error)
{
	return rdmad_tables_run(tables, "DELETE FROM module_test_steps", NULL, 0, error) &&
	       insert(tables, "rewritten", error);
}

static gboolean take_name(const RdmadRow *row, gpointer data, GError **error)
{
	gsize size;
	const void *what = rdmad_row_bytes(row, 1, &size);

	g_assert_cmpmem(what, size, "\0\1", 2);
	g_string_append_printf(data, "%s ", rdmad_row_text(row, 0));
	return TRUE;
}

static void assert_names(Fixture *f, const char *expected)
{
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_tables_read(f->tables,
					"SELECT name, what FROM module_test_steps ORDER BY id",
					NULL, 0, take_name, names, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(names->str, ==, expected);
}

/* Executes the same statement for each of its rows, recursively. */
static gboolean read_within(const RdmadRow *row, gpointer data, GError **error)
{
	Fixture *f = data;

	return ++f->calls > 3 || rdmad_tables_read(f->tables, "SELECT name FROM module_test_steps",
						   NULL, 0, read_within, f, error);
}

static void test_a_statement_may_run_within_itself(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_tables_write(f->tables, insert_two, f, &error));
	for (guint i = 0; i < 2; i++) {
		f->calls = 0;
		g_assert_true(rdmad_tables_read(f->tables, "SELECT name FROM module_test_steps",
						NULL, 0, read_within, f, &error));
		g_assert_no_error(error);
		/* Two rows at each of three levels, and two of the last one. */
		g_assert_cmpuint(f->calls, ==, 8);
	}
}

static void test_rows_outlive_the_daemon(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_tables_write(f->tables, insert_two, f, &error));
	rdmad_tables_close(f->tables);
	rdmad_state_close(f->state);
	open_state(f);
	open_tables(f, &test_class);
	assert_names(f, "one two ");
}

static void test_what_fails_half_way_leaves_nothing(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	f->fail = TRUE;
	g_assert_false(rdmad_tables_write(f->tables, insert_two, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	assert_names(f, "");
	g_clear_error(&error);
	f->fail = FALSE;
	g_assert_true(rdmad_tables_write(f->tables, insert_two, f, &error));
	/* The keys exist already. */
	g_assert_false(rdmad_tables_write(f->tables, insert_two, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	assert_names(f, "one two ");
}

static gboolean delete_one(RdmadTables *tables, gpointer data, GError **error)
{
	if (!rdmad_tables_run(tables, "DELETE FROM module_test_steps WHERE name = ?1 AND id > ?2",
			      RDMAD_VALUES(RDMAD_TEXT("one"), RDMAD_INT(0)), error))
		return FALSE;
	*(guint *)data = rdmad_tables_changed(tables);
	return TRUE;
}

static void test_changed_rows_are_counted(Fixture *f, gconstpointer data)
{
	guint changed = 7;

	rdmad_tables_write(f->tables, insert_two, f, NULL);
	g_assert_true(rdmad_tables_write(f->tables, delete_one, &changed, NULL));
	g_assert_cmpuint(changed, ==, 1);
	g_assert_true(rdmad_tables_write(f->tables, delete_one, &changed, NULL));
	g_assert_cmpuint(changed, ==, 0);
	assert_names(f, "two ");
}

static void test_older_tables_are_migrated_with_their_rows(Fixture *f, gconstpointer data)
{
	rdmad_tables_write(f->tables, insert_two, f, NULL);
	rdmad_tables_close(f->tables);
	open_tables(f, &newer_class);
	assert_names(f, "one two ");
	g_assert_true(rdmad_tables_read(f->tables, "SELECT done FROM module_test_steps", NULL, 0,
					NULL, NULL, NULL));
}

static void test_newer_tables_are_refused_and_stay(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	rdmad_tables_close(f->tables);
	open_tables(f, &newer_class);
	rdmad_tables_write(f->tables, insert_two, f, NULL);
	g_assert_null(rdmad_tables_open(f->state, SOME_MODULE, &test_class, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_ABI);
	assert_names(f, "one two ");
}

static void test_a_migration_that_fails_changes_nothing(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	rdmad_tables_write(f->tables, insert_two, f, NULL);
	g_assert_null(rdmad_tables_open(f->state, SOME_MODULE, &broken_class, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	assert_names(f, "one two ");
}

static void test_modules_have_versions_of_their_own(Fixture *f, gconstpointer data)
{
	static const char *const of_other[] = { "CREATE TABLE module_other_x (a TEXT) STRICT;",
						NULL };
	static const RdmadTablesClass other_class = { "other", of_other, NULL };
	g_autoptr(GError) error = NULL;
	RdmadTables *other = rdmad_tables_open(f->state, OTHER_MODULE, &other_class, NULL, &error);

	g_assert_no_error(error);
	g_assert_nonnull(other);
	g_assert_cmpuint(rdmad_state_tables_reap(f->state, OTHER_MODULE), ==, 1);
	g_assert_cmpuint(rdmad_state_tables_reap(f->state, OTHER_MODULE), ==, 0);
	assert_names(f, "");
}

/* ---- a database that is lost ---- */

static gboolean rewrite_all(Fixture *f, GError **error)
{
	return rdmad_state_begin(f->state, error) && rdmad_state_tables_rewrite(f->state, error) &&
	       rdmad_state_commit(f->state, error);
}

static void test_all_is_written_again_by_its_module(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	rdmad_tables_write(f->tables, insert_two, f, NULL);
	g_assert_true(rewrite_all(f, &error));
	g_assert_no_error(error);
	assert_names(f, "rewritten ");
}

static gboolean home(gpointer data, gboolean *lost, GError **error)
{
	Fixture *f = data;

	f->homes++;
	*lost = f->losses > 0 && f->calls > 0;
	if (*lost) {
		f->losses--;
		return rewrite_all(f, error);
	}
	return TRUE;
}

static void test_a_write_into_a_lost_database_is_done_again(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	f->losses = 1;
	rdmad_state_set_restore(f->state, home, f);
	g_assert_true(rdmad_tables_write(f->tables, insert_two, f, &error));
	g_assert_cmpuint(f->calls, ==, 2);
	g_assert_cmpuint(f->homes, ==, 3);
	assert_names(f, "rewritten one two ");
	/* Before the write, after the first try, and after the second. */
	f->losses = 3;
	f->fail = FALSE;
	g_assert_true(rewrite_all(f, NULL));
	g_assert_false(rdmad_tables_write(f->tables, insert_two, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/state-tables/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(rows_outlive_the_daemon),
	TEST(a_statement_may_run_within_itself),
	TEST(what_fails_half_way_leaves_nothing),
	TEST(changed_rows_are_counted),
	TEST(older_tables_are_migrated_with_their_rows),
	TEST(newer_tables_are_refused_and_stay),
	TEST(a_migration_that_fails_changes_nothing),
	TEST(modules_have_versions_of_their_own),
	TEST(all_is_written_again_by_its_module),
	TEST(a_write_into_a_lost_database_is_done_again),
	{ 0 },
};
