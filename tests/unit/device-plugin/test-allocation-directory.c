/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocation-directory.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "service/allocations-private.h"
#include "service/event-log-private.h"
#include "../support/unit.h"

#define ALLOCATION "0123456789abcdef"

typedef struct {
	char *run_dir;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	umask(0077); /* as the daemon sets it */
	f->run_dir = g_dir_make_tmp("rdmad-allocation-directory-XXXXXX", NULL);
}

static void remove_directory(const char *run_dir, const char *name)
{
	g_assert_true(rdmad_allocation_dir_remove(run_dir, name, NULL));
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_autofree char *allocations = g_build_filename(f->run_dir, "allocations", NULL);
	g_autoptr(GDir) directory = g_dir_open(allocations, 0, NULL);
	const char *name;

	while (directory && (name = g_dir_read_name(directory)))
		remove_directory(f->run_dir, name);
	g_rmdir(allocations);
	g_assert_cmpint(g_rmdir(f->run_dir), ==, 0);
	g_free(f->run_dir);
}

static char *allocation_path(Fixture *f, const char *allocation, const char *file)
{
	return g_build_filename(f->run_dir, "allocations", allocation, file, NULL);
}

static guint mode_of(const char *path)
{
	struct stat info;

	g_assert_cmpint(stat(path, &info), ==, 0);
	return info.st_mode & 07777;
}

static char *text_of(Fixture *f, const char *allocation, const char *file)
{
	g_autofree char *path = allocation_path(f, allocation, file);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static char *SLOTS[] = { (char *)"a", (char *)"b", NULL };

static RdmadAllocation allocation_of(const char *id)
{
	return (RdmadAllocation){ .id = (char *)id,
				  .resource = (char *)"a/b",
				  .slots = SLOTS,
				  .devices = SLOTS,
				  .since_us = 1,
				  .pod_namespace = (char *)"ml",
				  .pod_name = (char *)"train-0" };
}

static void begin(Fixture *f, const char *id)
{
	const RdmadAllocation allocation = allocation_of(id);
	g_autoptr(GError) error = NULL;

	allocation_directory_begin(f->run_dir, NULL, &allocation, &error);
	g_assert_no_error(error);
}

static gboolean keep(Fixture *f)
{
	const RdmadAllocation allocation = allocation_of(ALLOCATION);

	return allocation_directory_keep(f->run_dir, &allocation, NULL);
}

static void write_conf(Fixture *f, const char *text)
{
	g_autoptr(GError) error = NULL;

	rdmad_allocation_dir_write(f->run_dir, ALLOCATION, ALLOCATION_NCCL_CONF, text, &error);
	g_assert_no_error(error);
}

static void test_any_user_of_the_container_can_read_it(Fixture *f, gconstpointer data)
{
	g_autofree char *directory = rdmad_allocation_dir_path(f->run_dir, ALLOCATION);
	g_autofree char *allocations = g_path_get_dirname(directory);
	g_autofree char *conf = allocation_path(f, ALLOCATION, ALLOCATION_NCCL_CONF);

	begin(f, ALLOCATION);
	g_assert_cmpuint(mode_of(allocations), ==, 0755);
	g_assert_cmpuint(mode_of(directory), ==, 0755);
	g_assert_cmpuint(mode_of(conf), ==, 0644);
}

static void test_at_first_nccl_gets_no_settings(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, ALLOCATION);
	text = text_of(f, ALLOCATION, ALLOCATION_NCCL_CONF);
	g_assert_cmpint(text[0], ==, '#');
	g_assert_null(strstr(text, "\nN"));
}

static void test_a_file_is_replaced_and_leaves_no_unfinished_one(Fixture *f, gconstpointer data)
{
	g_autofree char *directory = rdmad_allocation_dir_path(f->run_dir, ALLOCATION);
	g_autofree char *text = NULL;
	g_autoptr(GDir) dir = NULL;

	begin(f, ALLOCATION);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	text = text_of(f, ALLOCATION, ALLOCATION_NCCL_CONF);
	g_assert_cmpstr(text, ==, "NCCL_IB_HCA==mlx5_0\n");
	dir = g_dir_open(directory, 0, NULL);
	for (const char *name; (name = g_dir_read_name(dir));)
		g_assert_true(g_str_equal(name, ALLOCATION_NCCL_CONF) ||
			      g_str_equal(name, "allocation.json"));
}

static void test_a_new_holder_does_not_see_what_the_last_one_had(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, ALLOCATION);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	begin(f, ALLOCATION);
	text = text_of(f, ALLOCATION, ALLOCATION_NCCL_CONF);
	g_assert_null(strstr(text, "mlx5_0"));
}

static void test_a_holder_keeps_what_it_has(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, ALLOCATION);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	g_assert_true(keep(f));
	text = text_of(f, ALLOCATION, ALLOCATION_NCCL_CONF);
	g_assert_cmpstr(text, ==, "NCCL_IB_HCA==mlx5_0\n");
}

static void test_a_holder_without_a_directory_gets_one(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	g_assert_true(keep(f));
	text = text_of(f, ALLOCATION, ALLOCATION_NCCL_CONF);
	g_assert_nonnull(text);
}

static void test_what_a_power_failure_has_damaged_is_written_again(Fixture *f, gconstpointer data)
{
	static const char *const files[] = { ALLOCATION_NCCL_CONF, "allocation.json" };
	g_autofree char *directory = rdmad_allocation_dir_path(f->run_dir, ALLOCATION);

	begin(f, ALLOCATION);
	g_assert_cmpint(chmod(directory, 0700), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = allocation_path(f, ALLOCATION, files[i]);
		g_autofree char *before = text_of(f, ALLOCATION, files[i]), *after = NULL;

		g_assert_cmpint(truncate(path, 0), ==, 0);
		g_assert_true(keep(f));
		after = text_of(f, ALLOCATION, files[i]);
		g_assert_cmpstr(after, ==, before);
		g_assert_cmpuint(mode_of(path), ==, 0644);
	}
	g_assert_cmpuint(mode_of(directory), ==, 0755);
}

static void test_a_whole_directory_is_not_written_again(Fixture *f, gconstpointer data)
{
	g_autofree char *path = allocation_path(f, ALLOCATION, "allocation.json");
	struct stat before, after;

	begin(f, ALLOCATION);
	g_assert_cmpint(stat(path, &before), ==, 0);
	g_assert_true(keep(f));
	g_assert_cmpint(stat(path, &after), ==, 0);
	g_assert_cmpuint(before.st_ino, ==, after.st_ino);
}

static void test_a_allocation_that_ended_cannot_be_written_to(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	begin(f, ALLOCATION);
	remove_directory(f->run_dir, ALLOCATION);
	g_assert_false(rdmad_allocation_dir_write(f->run_dir, ALLOCATION, "x", "y", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_a_directory_that_cannot_be_made_is_an_error_with_its_path(Fixture *f,
									   gconstpointer data)
{
	const RdmadAllocation allocation = allocation_of(ALLOCATION);
	g_autoptr(GError) error = NULL;

	g_assert_false(allocation_directory_begin("/proc/nothing", NULL, &allocation, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "/proc/nothing"));
}

typedef struct {
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadState *state;
	RdmadAllocations *allocations;
} Table;

static void table_open(Table *t)
{
	t->loop = rdmad_loop_new();
	t->event_log = rdmad_event_log_new(t->loop);
	t->state = rdmad_state_open(NULL, NULL, NULL);
	t->allocations = rdmad_allocations_new(t->loop, t->state, t->event_log, NULL);
}

static void table_close(Table *t)
{
	rdmad_allocations_free(t->allocations);
	rdmad_state_close(t->state);
	rdmad_event_log_free(t->event_log);
	rdmad_loop_free(t->loop);
}

static const RdmadAllocation *table_grant(Table *t)
{
	const char *const slots[] = { "a", NULL };
	const RdmadGrant grant = { "device-plugin", "a/b", slots, slots };

	return rdmad_allocations_grant(t->allocations, &grant, NULL);
}

/* "id", and the contents of allocation.json; g_free(). */
static char *orphans_text(Fixture *f, RdmadAllocations *allocations)
{
	g_autoptr(GPtrArray) orphans = allocation_directory_orphans(f->run_dir, allocations);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < orphans->len; i++) {
		const AllocationNote *note = orphans->pdata[i];
		g_autofree char *slots = note->slots ? g_strjoinv(",", note->slots) : NULL;

		g_string_append_printf(text, "%s %s %s %s/%s %d;", note->id, note->resource ?: "-",
				       slots ?: "-", note->pod_namespace ?: "-",
				       note->pod_name ?: "-", (int)note->since_us);
	}
	return g_string_free(text, FALSE);
}

static void test_a_directory_identifies_its_allocation(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation = NULL;
	g_autofree char *foreign = rdmad_allocation_dir_path(f->run_dir, "notes");
	g_autofree char *text = NULL;
	Table table;

	table_open(&table);
	allocation = table_grant(&table);
	begin(f, allocation->id);
	begin(f, ALLOCATION);
	g_assert_cmpint(g_mkdir(foreign, 0700), ==, 0);
	text = orphans_text(f, table.allocations);
	g_assert_cmpstr(text, ==, ALLOCATION " a/b a,b ml/train-0 1;");
	table_close(&table);
}

#define HEAD "{\"version\": 1, \"id\": \"" ALLOCATION "\", \"resource\": \"a/b\""

static void test_an_invalid_allocation_json_is_ignored(Fixture *f, gconstpointer data)
{
	static const char *const wrong[] = {
		"",
		"{}",
		"[1]",
		HEAD,
		HEAD "}",
		HEAD ", \"slots\": []}",
		HEAD ", \"slots\": [\"a\", \"a\"]}",
		HEAD ", \"slots\": [\"b\", \"a\"]}",
		HEAD ", \"slots\": [\"\"]}",
		HEAD ", \"slots\": [7]}",
		HEAD ", \"slots\": \"a\"}",
		HEAD ", \"resource\": \"a/c\", \"slots\": [\"a\"]}",
		("{\"version\": 2, \"id\": \"" ALLOCATION
		 "\", \"resource\": \"a/b\", \"slots\": [\"a\"]}"),
		("{\"version\": 1, \"id\": \"fedcba9876543210\", \"resource\": \"a/b\","
		 " \"slots\": [\"a\"]}"),
	};
	Table table;

	table_open(&table);
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *text = NULL;

		begin(f, ALLOCATION);
		g_assert_true(rdmad_allocation_dir_write(f->run_dir, ALLOCATION, "allocation.json",
							 wrong[i], NULL));
		text = orphans_text(f, table.allocations);
		g_test_message("%s", wrong[i]);
		g_assert_cmpstr(text, ==, ALLOCATION " - - -/- 0;");
	}
	table_close(&table);
}

/* A daemon as root must not remove the target of the link. */
static void test_a_link_in_the_place_of_allocations_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *allocations = g_build_filename(f->run_dir, "allocations", NULL);
	g_autofree char *behind = g_build_filename(f->run_dir, "behind", NULL);
	g_autofree char *directory = g_build_filename(behind, ALLOCATION, NULL);
	g_autofree char *file = g_build_filename(directory, "precious", NULL);
	const RdmadAllocation wanted = allocation_of(ALLOCATION);
	g_autoptr(GError) error = NULL;
	Table table;

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	g_assert_cmpint(symlink(behind, allocations), ==, 0);
	table_open(&table);
	g_ptr_array_unref(allocation_directory_orphans(f->run_dir, table.allocations));
	table_close(&table);
	g_assert_false(allocation_directory_begin(f->run_dir, NULL, &wanted, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, allocations));
	g_assert_false(rdmad_allocation_dir_remove(f->run_dir, ALLOCATION, NULL));
	g_assert_true(g_file_test(file, G_FILE_TEST_IS_REGULAR));
	g_assert_cmpint(g_unlink(file) | g_rmdir(directory) | g_rmdir(behind) |
				g_unlink(allocations),
			==, 0);
}

static void test_the_sweep_takes_files_that_were_not_finished(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) allocation = NULL;
	g_autofree char *unfinished = NULL;
	Table table;

	table_open(&table);
	allocation = table_grant(&table);
	begin(f, allocation->id);
	unfinished = allocation_path(f, allocation->id, "." ALLOCATION_NCCL_CONF ".tmp");
	g_assert_true(g_file_set_contents(unfinished, "NCC", 3, NULL));
	g_ptr_array_unref(allocation_directory_orphans(f->run_dir, table.allocations));
	g_assert_false(g_file_test(unfinished, G_FILE_TEST_EXISTS));
	g_assert_true(
		rdmad_allocation_dir_has(f->run_dir, allocation->id, ALLOCATION_NCCL_CONF, NULL));
	table_close(&table);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocation-directory/" #name, Fixture, NULL, setup, test_##name,       \
			  teardown)

const UnitTest unit_tests[] = {
	TEST(any_user_of_the_container_can_read_it),
	TEST(at_first_nccl_gets_no_settings),
	TEST(a_file_is_replaced_and_leaves_no_unfinished_one),
	TEST(a_new_holder_does_not_see_what_the_last_one_had),
	TEST(a_holder_keeps_what_it_has),
	TEST(a_holder_without_a_directory_gets_one),
	TEST(what_a_power_failure_has_damaged_is_written_again),
	TEST(a_whole_directory_is_not_written_again),
	TEST(a_allocation_that_ended_cannot_be_written_to),
	TEST(a_directory_that_cannot_be_made_is_an_error_with_its_path),
	TEST(a_link_in_the_place_of_allocations_is_not_followed),
	TEST(the_sweep_takes_files_that_were_not_finished),
	TEST(a_directory_identifies_its_allocation),
	TEST(an_invalid_allocation_json_is_ignored),
	{ 0 },
};
