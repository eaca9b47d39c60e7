/* SPDX-License-Identifier: Apache-2.0 */
#include "claim-folder.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/claims.h>
#include <rdmad/error.h>
#include <sys/stat.h>

#include "base/loop-private.h"
#include "service/claims-private.h"
#include "service/journal-private.h"

#define CLAIM "0123456789abcdef"

typedef struct {
	char *run_dir;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	umask(0077); /* as the daemon has it */
	f->run_dir = g_dir_make_tmp("rdmad-claim-folder-XXXXXX", NULL);
}

static void remove_folder(const char *run_dir, const char *name)
{
	g_assert_true(rdmad_allocation_dir_remove(run_dir, name, NULL));
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_autofree char *claims = g_build_filename(f->run_dir, "claims", NULL);
	g_autoptr(GDir) folder = g_dir_open(claims, 0, NULL);
	const char *name;

	while (folder && (name = g_dir_read_name(folder)))
		remove_folder(f->run_dir, name);
	g_rmdir(claims);
	g_assert_cmpint(g_rmdir(f->run_dir), ==, 0);
	g_free(f->run_dir);
}

static char *claim_path(Fixture *f, const char *claim, const char *file)
{
	return g_build_filename(f->run_dir, "claims", claim, file, NULL);
}

static guint mode_of(const char *path)
{
	struct stat info;

	g_assert_cmpint(stat(path, &info), ==, 0);
	return info.st_mode & 07777;
}

static char *text_of(Fixture *f, const char *claim, const char *file)
{
	g_autofree char *path = claim_path(f, claim, file);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static void begin(Fixture *f, const char *claim)
{
	g_autoptr(GError) error = NULL;

	rdmad_claim_folder_begin(f->run_dir, claim, &error);
	g_assert_no_error(error);
}

static void write_conf(Fixture *f, const char *text)
{
	g_autoptr(GError) error = NULL;

	rdmad_allocation_dir_write(f->run_dir, CLAIM, RDMAD_CLAIM_NCCL_CONF, text, &error);
	g_assert_no_error(error);
}

static void test_any_user_of_the_container_can_read_it(Fixture *f, gconstpointer data)
{
	g_autofree char *folder = rdmad_allocation_dir_path(f->run_dir, CLAIM);
	g_autofree char *claims = g_path_get_dirname(folder);
	g_autofree char *conf = claim_path(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);

	begin(f, CLAIM);
	g_assert_cmpuint(mode_of(claims), ==, 0755);
	g_assert_cmpuint(mode_of(folder), ==, 0755);
	g_assert_cmpuint(mode_of(conf), ==, 0644);
}

static void test_at_first_nccl_is_told_nothing(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, CLAIM);
	text = text_of(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);
	g_assert_cmpint(text[0], ==, '#');
	g_assert_null(strstr(text, "\nN"));
}

static void test_a_file_is_replaced_and_leaves_no_draft(Fixture *f, gconstpointer data)
{
	g_autofree char *folder = rdmad_allocation_dir_path(f->run_dir, CLAIM);
	g_autofree char *text = NULL;
	g_autoptr(GDir) dir = NULL;

	begin(f, CLAIM);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	text = text_of(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);
	g_assert_cmpstr(text, ==, "NCCL_IB_HCA==mlx5_0\n");
	dir = g_dir_open(folder, 0, NULL);
	g_assert_cmpstr(g_dir_read_name(dir), ==, RDMAD_CLAIM_NCCL_CONF);
	g_assert_null(g_dir_read_name(dir));
}

static void test_a_new_holder_does_not_see_what_the_last_one_had(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, CLAIM);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	begin(f, CLAIM);
	text = text_of(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);
	g_assert_null(strstr(text, "mlx5_0"));
}

static void test_a_holder_keeps_what_it_has(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	begin(f, CLAIM);
	write_conf(f, "NCCL_IB_HCA==mlx5_0\n");
	g_assert_true(rdmad_claim_folder_keep(f->run_dir, CLAIM, NULL));
	text = text_of(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);
	g_assert_cmpstr(text, ==, "NCCL_IB_HCA==mlx5_0\n");
}

static void test_a_holder_without_a_folder_gets_one(Fixture *f, gconstpointer data)
{
	g_autofree char *text = NULL;

	g_assert_true(rdmad_claim_folder_keep(f->run_dir, CLAIM, NULL));
	text = text_of(f, CLAIM, RDMAD_CLAIM_NCCL_CONF);
	g_assert_nonnull(text);
}

static void test_a_claim_that_ended_cannot_be_written_to(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	begin(f, CLAIM);
	remove_folder(f->run_dir, CLAIM);
	g_assert_false(rdmad_allocation_dir_write(f->run_dir, CLAIM, "x", "y", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_a_folder_that_cannot_be_made_is_an_error_with_its_path(Fixture *f,
									gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(rdmad_claim_folder_begin("/proc/nothing", CLAIM, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "/proc/nothing"));
}

typedef struct {
	RdmadLoop *loop;
	RdmadJournal *journal;
	RdmadState *state;
	RdmadClaims *claims;
} Table;

static void table_open(Table *t)
{
	t->loop = rdmad_loop_new();
	t->journal = rdmad_journal_new(t->loop);
	t->state = rdmad_state_open(NULL, NULL, NULL);
	t->claims = rdmad_claims_new(t->loop, t->state, t->journal, NULL);
}

static void table_close(Table *t)
{
	rdmad_claims_free(t->claims);
	rdmad_state_close(t->state);
	rdmad_journal_free(t->journal);
	rdmad_loop_free(t->loop);
}

static const RdmadClaim *table_grant(Table *t)
{
	const char *const tokens[] = { "a", NULL };
	const RdmadGrant grant = { "device-plugin", "a/b", tokens, tokens };

	return rdmad_claims_grant(t->claims, &grant, NULL);
}

static void test_the_sweep_takes_what_no_claim_has_and_nothing_else(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = NULL;
	g_autofree char *kept = NULL;
	g_autofree char *stale = rdmad_allocation_dir_path(f->run_dir, CLAIM);
	g_autofree char *foreign = rdmad_allocation_dir_path(f->run_dir, "notes");
	Table table;

	table_open(&table);
	claim = table_grant(&table);
	kept = rdmad_allocation_dir_path(f->run_dir, claim->id);
	begin(f, claim->id);
	begin(f, CLAIM);
	g_assert_cmpint(g_mkdir(foreign, 0700), ==, 0);
	rdmad_claim_folder_sweep(f->run_dir, table.claims);
	g_assert_true(g_file_test(kept, G_FILE_TEST_IS_DIR));
	g_assert_false(g_file_test(stale, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(foreign, G_FILE_TEST_IS_DIR));
	table_close(&table);
}

/* The daemon ran as root and removed what the link leads to. */
static void test_a_link_in_the_place_of_claims_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *claims = g_build_filename(f->run_dir, "claims", NULL);
	g_autofree char *behind = g_build_filename(f->run_dir, "behind", NULL);
	g_autofree char *folder = g_build_filename(behind, CLAIM, NULL);
	g_autofree char *file = g_build_filename(folder, "precious", NULL);
	g_autoptr(GError) error = NULL;
	Table table;

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	g_assert_cmpint(symlink(behind, claims), ==, 0);
	table_open(&table);
	rdmad_claim_folder_sweep(f->run_dir, table.claims);
	table_close(&table);
	g_assert_false(rdmad_claim_folder_begin(f->run_dir, CLAIM, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, claims));
	g_assert_false(rdmad_allocation_dir_remove(f->run_dir, CLAIM, NULL));
	g_assert_true(g_file_test(file, G_FILE_TEST_IS_REGULAR));
	g_assert_cmpint(g_unlink(file) | g_rmdir(folder) | g_rmdir(behind) | g_unlink(claims), ==,
			0);
}

static void test_the_sweep_takes_files_that_were_not_finished(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = NULL;
	g_autofree char *unfinished = NULL;
	Table table;

	table_open(&table);
	claim = table_grant(&table);
	begin(f, claim->id);
	unfinished = claim_path(f, claim->id, "." RDMAD_CLAIM_NCCL_CONF ".tmp");
	g_assert_true(g_file_set_contents(unfinished, "NCC", 3, NULL));
	rdmad_claim_folder_sweep(f->run_dir, table.claims);
	g_assert_false(g_file_test(unfinished, G_FILE_TEST_EXISTS));
	g_assert_true(rdmad_allocation_dir_has(f->run_dir, claim->id, RDMAD_CLAIM_NCCL_CONF, NULL));
	table_close(&table);
}

#define ADD(name) g_test_add("/claim-folder/" #name, Fixture, NULL, setup, test_##name, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(any_user_of_the_container_can_read_it);
	ADD(at_first_nccl_is_told_nothing);
	ADD(a_file_is_replaced_and_leaves_no_draft);
	ADD(a_new_holder_does_not_see_what_the_last_one_had);
	ADD(a_holder_keeps_what_it_has);
	ADD(a_holder_without_a_folder_gets_one);
	ADD(a_claim_that_ended_cannot_be_written_to);
	ADD(a_folder_that_cannot_be_made_is_an_error_with_its_path);
	ADD(a_link_in_the_place_of_claims_is_not_followed);
	ADD(the_sweep_takes_files_that_were_not_finished);
	ADD(the_sweep_takes_what_no_claim_has_and_nothing_else);
	return g_test_run();
}
