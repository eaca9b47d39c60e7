/* SPDX-License-Identifier: Apache-2.0 */
#include "handout.h"

#include <glib/gstdio.h>
#include <sys/stat.h>

#include "base/loop-private.h"
#include "fixture.h"
#include "service/claims-private.h"
#include "service/journal-private.h"

#define OWNER "device-plugin"
#define ID    "0000:3b:00.0"

typedef struct {
	char *dir, *info_dir;
	RdmadLoop *loop;
	RdmadJournal *journal;
	RdmadState *state;
	RdmadClaims *claims;
	RdmadDevice *dev;
	RdmadHandout *handout;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	umask(0077);
	f->dir = g_dir_make_tmp("rdmad-handout-XXXXXX", NULL);
	f->info_dir = g_build_filename(f->dir, "devinfo", "dp", NULL);
	f->loop = rdmad_loop_new();
	f->journal = rdmad_journal_new(f->loop);
	f->state = rdmad_state_open(NULL, NULL, NULL);
	f->claims = rdmad_claims_new(f->loop, f->state, f->journal, NULL);
	f->dev = fixture_device(ID, "mlx5_0", 0);
	f->handout = rdmad_handout_new(f->dir, OWNER, f->claims, f->info_dir);
	rdmad_handout_set_device(f->handout, ID, f->dev);
	rdmad_handout_follow(f->handout);
}

static void teardown(Fixture *f, gconstpointer data)
{
	const char *argv[] = { "/bin/rm", "-r", f->dir, NULL };
	g_autofree char *command = g_strjoinv(" ", (char **)argv);

	rdmad_handout_free(f->handout);
	rdmad_device_unref(f->dev);
	rdmad_claims_free(f->claims);
	rdmad_state_close(f->state);
	rdmad_journal_free(f->journal);
	rdmad_loop_free(f->loop);
	g_assert_cmpint(system(command), ==, 0);
	g_free(f->info_dir);
	g_free(f->dir);
}

static const RdmadClaim *grant(Fixture *f, const char *tokens)
{
	g_auto(GStrv) split = g_strsplit(tokens, " ", -1);
	const char *devices[] = { ID, ID, NULL };
	const RdmadGrant wanted = { OWNER, "rdma/hca", (const char *const *)split, devices };
	g_autoptr(GError) error = NULL;
	const RdmadClaim *claim;

	devices[g_strv_length(split)] = NULL;
	claim = rdmad_claims_grant(f->claims, &wanted, &error);
	g_assert_no_error(error);
	rdmad_handout_begin(f->handout, claim, &error);
	g_assert_no_error(error);
	return claim;
}

static char *info_path(Fixture *f, const char *token)
{
	g_autofree char *name = g_strdup_printf("rdma-hca-%s-device.json", token);

	return g_build_filename(f->info_dir, name, NULL);
}

static char *info(Fixture *f, const char *token)
{
	g_autofree char *path = info_path(f, token);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static gboolean has_info(Fixture *f, const char *token)
{
	g_autofree char *text = info(f, token);

	return text != NULL;
}

#define TEXT(name)                                                                                 \
	"{\"pci\":{\"pci-address\":\"" ID "\",\"rdma-device\":\"" name                             \
	"\"},\"type\":\"pci\",\"version\":\"1.1.0\"}"

static void test_each_token_has_a_file_that_all_can_read(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = grant(f, ID "::1 " ID "::2");
	g_autofree char *first = info(f, ID "::1");
	g_autofree char *path = info_path(f, ID "::2");
	struct stat status;

	g_assert_cmpstr(first, ==, TEXT("mlx5_0"));
	g_assert_cmpint(stat(path, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 07777, ==, 0444);
	g_assert_cmpint(stat(f->info_dir, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 07777, ==, 0755);
}

static void test_a_virtual_function_names_its_physical_one(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = NULL;
	g_autofree char *text = NULL;

	f->dev->pf_address = g_strdup("0000:3b:00.7");
	claim = grant(f, "a");
	text = info(f, "a");
	g_assert_nonnull(strstr(text, "\"pf-pci-address\":\"0000:3b:00.7\""));
}

static void test_software_devices_and_subfunctions_have_none(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) first = NULL;
	g_autoptr(RdmadClaimRef) second = NULL;

	f->dev->aux_name = g_strdup("mlx5_core.sf.4");
	first = grant(f, "a");
	g_clear_pointer(&f->dev->aux_name, g_free);
	g_clear_pointer(&f->dev->pci_address, g_free);
	second = grant(f, "b");
	g_assert_false(has_info(f, "a") || has_info(f, "b"));
}

static void test_the_files_go_with_the_claim(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = grant(f, "a b");

	g_assert_true(rdmad_claims_end(f->claims, claim->id, "over", NULL));
	rdmad_handout_end(f->handout, claim);
	g_assert_false(has_info(f, "a") || has_info(f, "b"));
}

/* The end of a claim is told later than it happens. */
static void test_a_token_that_has_a_new_holder_keeps_its_file(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) before = grant(f, "a b");
	g_autoptr(RdmadClaimRef) now = grant(f, "a");

	rdmad_handout_end(f->handout, before);
	g_assert_true(has_info(f, "a"));
	g_assert_false(has_info(f, "b"));
}

static void test_a_device_that_leaves_takes_the_file_away_and_brings_it_back(Fixture *f,
									     gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = grant(f, "a");
	g_autoptr(RdmadDeviceRef) renamed = fixture_device(ID, "rocep59s0", 0);
	g_autofree char *text = NULL;

	rdmad_handout_set_device(f->handout, ID, NULL);
	rdmad_handout_follow(f->handout);
	g_assert_false(has_info(f, "a"));
	rdmad_handout_set_device(f->handout, ID, renamed);
	rdmad_handout_follow(f->handout);
	text = info(f, "a");
	g_assert_cmpstr(text, ==, TEXT("rocep59s0"));
}

static void test_files_of_others_are_never_removed(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = grant(f, "a");
	g_autofree char *foreign = info_path(f, "x");

	g_assert_true(g_file_set_contents(foreign, "{}", -1, NULL));
	rdmad_handout_configure(f->handout, NULL);
	g_assert_false(has_info(f, "a"));
	g_assert_true(has_info(f, "x"));
}

static void test_another_folder_gets_the_files_of_all_claims(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadClaimRef) claim = grant(f, "a");
	g_autofree char *before = info_path(f, "a");
	g_autofree char *other = g_build_filename(f->dir, "other", NULL);

	rdmad_handout_configure(f->handout, other);
	g_free(f->info_dir);
	f->info_dir = g_steal_pointer(&other);
	g_assert_true(has_info(f, "a"));
	g_assert_false(g_file_test(before, G_FILE_TEST_EXISTS));
}

/* Multus may not be there, or its folder not ours to write. */
static void test_a_file_that_cannot_be_written_stops_no_pod(Fixture *f, gconstpointer data)
{
	rdmad_handout_configure(f->handout, "/proc/nothing");
	rdmad_claim_unref(grant(f, "a"));
}

#define ADD(name) g_test_add("/handout/" #name, Fixture, NULL, setup, test_##name, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_log_set_always_fatal(G_LOG_FATAL_MASK);
	ADD(each_token_has_a_file_that_all_can_read);
	ADD(a_virtual_function_names_its_physical_one);
	ADD(software_devices_and_subfunctions_have_none);
	ADD(the_files_go_with_the_claim);
	ADD(a_token_that_has_a_new_holder_keeps_its_file);
	ADD(a_device_that_leaves_takes_the_file_away_and_brings_it_back);
	ADD(files_of_others_are_never_removed);
	ADD(another_folder_gets_the_files_of_all_claims);
	ADD(a_file_that_cannot_be_written_stops_no_pod);
	return g_test_run();
}
