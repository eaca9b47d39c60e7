/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claims-fixture.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

static void expect(ClaimsFixture *f, const char *text)
{
	g_autofree char *is = claims_fixture_text(f);

	g_assert_cmpstr(is, ==, text);
}

static void test_a_grant_is_found_and_survives(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "b,a");
	const RdmadClaim *claim;

	for (guint round = 0; round < 2; round++) {
		claim = rdmad_claims_lookup(f->claims, id);
		g_assert_nonnull(claim);
		g_assert_cmpuint(strspn(id, "0123456789abcdef"), ==, 16);
		g_assert_cmpstr(claim->resource, ==, "rdma/hca");
		g_assert_cmpstr(claim->owner, ==, "test");
		g_assert_cmpstr(claim->tokens[0], ==, "a");
		g_assert_cmpstr(claim->devices[0], ==, "dev-a");
		g_assert_cmpstr(claim->tokens[1], ==, "b");
		g_assert_cmpstr(claim->devices[1], ==, "dev-b");
		g_assert_null(claim->tokens[2]);
		g_assert_null(claim->pod_name);
		g_assert_true(rdmad_claims_by_token(f->claims, "rdma/hca", "b") == claim);
		g_assert_null(rdmad_claims_by_token(f->claims, "rdma/other", "b"));
		g_assert_null(rdmad_claims_by_token(f->claims, "rdma/hca", "c"));
		g_assert_cmpuint(rdmad_claims_count(f->claims), ==, 1);
		claims_fixture_reopen(f);
	}
}

static void test_claims_come_oldest_first(ClaimsFixture *f, gconstpointer data)
{
	static const char *const tokens[] = { "c", "a", "b", "d" };

	for (guint i = 0; i < G_N_ELEMENTS(tokens); i++)
		g_free(claims_fixture_must_grant(f, tokens[i]));
	expect(f, "c a b d");
	/* Given again, maybe to another container of the same pod. */
	g_free(claims_fixture_must_grant(f, "a"));
	expect(f, "c a b d a");
	claims_fixture_reopen(f);
	expect(f, "c a b d a");
}

static gboolean attach(ClaimsFixture *f, const char *id, const char *netns, const char *interface,
		       const char *address, GError **error)
{
	char *addresses[] = { (char *)address, NULL };
	const RdmadAttachment at = { (char *)netns, (char *)interface, NULL,
				     address ? addresses : NULL, 3 };

	return rdmad_claims_attach(f->claims, id, &at, error);
}

static void expect_token(ClaimsFixture *f, const char *token, const char *id)
{
	const RdmadClaim *claim = rdmad_claims_by_token(f->claims, "rdma/hca", token);

	g_assert_cmpstr(claim ? claim->id : NULL, ==, id);
}

static void end(ClaimsFixture *f, const char *id)
{
	g_assert_true(rdmad_claims_end(f->claims, id, "enough", NULL));
}

static void test_each_container_that_shares_a_token_has_its_claim(ClaimsFixture *f,
								  gconstpointer data)
{
	g_autofree char *first = claims_fixture_must_grant(f, "a,b");
	g_autofree char *second = claims_fixture_must_grant(f, "b,a");
	g_autofree char *third = claims_fixture_must_grant(f, "b,c");

	g_assert_cmpstr(first, !=, second);
	for (guint round = 0; round < 2; round++) {
		expect(f, "a,b a,b b,c");
		expect_token(f, "a", second);
		expect_token(f, "b", third);
		expect_token(f, "c", third);
		claims_fixture_reopen(f);
	}
	g_assert_true(attach(f, second, "/ns", "net1", NULL, NULL));
	expect_token(f, "a", second);
	end(f, third);
	expect_token(f, "b", second);
	expect_token(f, "c", NULL);
	end(f, first);
	expect_token(f, "b", second);
	end(f, second);
	expect_token(f, "b", NULL);
	claims_fixture_reopen(f);
	expect(f, "");
}

static void test_no_token_has_claims_without_end(ClaimsFixture *f, gconstpointer data)
{
	for (guint i = 0; i < 100; i++)
		g_free(claims_fixture_must_grant(f, "a"));
	g_assert_cmpuint(rdmad_claims_count(f->claims), ==, 33);
}

static void test_the_same_token_of_two_resources_is_two_claims(ClaimsFixture *f, gconstpointer data)
{
	static const char *const tokens[] = { "a", NULL };
	const RdmadGrant grant = { "test", "rdma/other", tokens, tokens };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadClaimRef) other = NULL;

	g_free(claims_fixture_must_grant(f, "a"));
	other = rdmad_claims_grant(f->claims, &grant, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rdmad_claims_count(f->claims), ==, 2);
	g_assert_true(rdmad_claims_by_token(f->claims, "rdma/other", "a") == other);
}

typedef struct {
	const char *name, *resource, *tokens, *devices;
} BadGrant;

static void test_bad_grants_change_nothing(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *long_name = g_strnfill(254, 'x');
	g_autofree char *too_many = g_strnfill(2 * RDMAD_CLAIM_MAX_TOKENS, ',');
	const BadGrant bad[] = {
		{ "nothing", "rdma/hca", "", "" },
		{ "a token twice", "rdma/hca", "a,b,a", "1,2,3" },
		{ "an empty token", "rdma/hca", "a,,b", "1,2,3" },
		{ "an empty device", "rdma/hca", "a,b", "1," },
		{ "more tokens than devices", "rdma/hca", "a,b", "1" },
		{ "more devices than tokens", "rdma/hca", "a", "1,2" },
		{ "no resource", "", "a", "1" },
		{ "a long token", "rdma/hca", long_name, "1" },
		{ "a long device", "rdma/hca", "a", long_name },
		{ "no text", "rdma/hca", "\xff", "1" },
		{ "too many", "rdma/hca", too_many, too_many },
	};

	g_free(claims_fixture_must_grant(f, "a,b"));
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_auto(GStrv) tokens = g_strsplit(bad[i].tokens, ",", -1);
		g_auto(GStrv) devices = g_strsplit(bad[i].devices, ",", -1);
		const RdmadGrant grant = { "test", bad[i].resource, (const char *const *)tokens,
					   (const char *const *)devices };
		g_autoptr(GError) error = NULL;

		g_test_message("%s", bad[i].name);
		g_assert_null(rdmad_claims_grant(f->claims, &grant, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		expect(f, "a,b");
	}
}

static void test_the_most_tokens_that_are_allowed(ClaimsFixture *f, gconstpointer data)
{
	g_autoptr(GString) tokens = g_string_new("t0000");
	g_autoptr(GError) error = NULL;

	for (guint i = 1; i < RDMAD_CLAIM_MAX_TOKENS; i++)
		g_string_append_printf(tokens, ",t%04u", i);
	g_free(claims_fixture_must_grant(f, tokens->str));
	claims_fixture_reopen(f);
	expect(f, tokens->str);
	g_string_append(tokens, ",u");
	g_assert_null(claims_fixture_grant(f, tokens->str, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_an_ended_claim_is_gone(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "a");
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_claims_end(f->claims, id, "enough", &error));
	g_assert_no_error(error);
	g_assert_null(rdmad_claims_lookup(f->claims, id));
	claims_fixture_reopen(f);
	expect(f, "");
	g_assert_false(rdmad_claims_end(f->claims, id, "enough", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_attachments_are_replaced_by_name(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "a");
	const RdmadClaim *claim;

	g_assert_true(attach(f, id, "/ns", "net1", "192.0.2.7/24", NULL));
	g_assert_true(attach(f, id, "/ns", "net2", NULL, NULL));
	g_assert_true(attach(f, id, "/ns", "net1", "192.0.2.8/24", NULL));
	for (guint round = 0; round < 2; round++) {
		claim = rdmad_claims_lookup(f->claims, id);
		g_assert_cmpuint(claim->n_attachments, ==, 2);
		g_assert_cmpstr(claim->attachments[0].interface, ==, "net2");
		g_assert_null(claim->attachments[0].addresses[0]);
		g_assert_cmpstr(claim->attachments[1].interface, ==, "net1");
		g_assert_cmpstr(claim->attachments[1].addresses[0], ==, "192.0.2.8/24");
		claims_fixture_reopen(f);
	}
	g_assert_true(rdmad_claims_detach(f->claims, id, "/ns", "net2", NULL));
	claims_fixture_reopen(f);
	claim = rdmad_claims_lookup(f->claims, id);
	g_assert_cmpuint(claim->n_attachments, ==, 1);
	g_assert_cmpstr(claim->attachments[0].interface, ==, "net1");
}

static void test_bad_attachments_are_refused(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "a");
	g_autoptr(GError) error = NULL;

	g_assert_false(attach(f, "0123456789abcdef", "/ns", "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_false(attach(f, id, "", "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_true(attach(f, id, "/ns", "net0", NULL, NULL));
	g_assert_false(attach(f, id, NULL, "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(attach(f, id, "/ns", "net1", "two\nlines", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(rdmad_claims_detach(f->claims, id, "/ns", "net1", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	for (guint i = 0; i < RDMAD_CLAIM_MAX_ATTACHMENTS; i++) {
		g_autofree char *interface = g_strdup_printf("net%u", i);

		g_assert_true(attach(f, id, "/ns", interface, NULL, NULL));
	}
	g_assert_false(attach(f, id, "/ns", "one more", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	g_assert_true(attach(f, id, "/ns", "net0", "192.0.2.1/24", NULL));
	claims_fixture_reopen(f);
	g_assert_cmpuint(rdmad_claims_lookup(f->claims, id)->n_attachments, ==,
			 RDMAD_CLAIM_MAX_ATTACHMENTS);
}

static void see_granted(const RdmadClaim *claim, gpointer data)
{
	g_string_append_printf(((ClaimsFixture *)data)->seen, "+%s ", claim->tokens[0]);
}

static void see_changed(const RdmadClaim *before, const RdmadClaim *now, gpointer data)
{
	g_assert_cmpstr(before->id, ==, now->id);
	g_string_append_printf(((ClaimsFixture *)data)->seen, "~%s(%u) ", now->tokens[0],
			       now->n_attachments);
}

static void see_ended(const RdmadClaim *claim, const char *reason, gpointer data)
{
	g_string_append_printf(((ClaimsFixture *)data)->seen, "-%s(%s) ", claim->tokens[0], reason);
}

static const RdmadClaimOps see = { see_granted, see_changed, see_ended };

static void expect_seen(ClaimsFixture *f, const char *seen)
{
	claims_fixture_run(f);
	g_assert_cmpstr(f->seen->str, ==, seen);
	g_string_truncate(f->seen, 0);
}

static void test_a_watch_hears_everything_in_order(ClaimsFixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = NULL;
	g_autofree char *id = claims_fixture_must_grant(f, "a");

	watch = rdmad_claims_watch(f->claims, NULL, &see, f);
	g_assert_cmpstr(f->seen->str, ==, "");
	expect_seen(f, "+a ");
	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_free(claims_fixture_must_grant(f, "b"));
	g_free(claims_fixture_must_grant(f, "a"));
	g_assert_true(rdmad_claims_end(f->claims, id, "enough", NULL));
	g_assert_cmpstr(f->seen->str, ==, "");
	expect_seen(f, "~a(1) +b +a -a(enough) ");
}

static void grant_more(const RdmadClaim *claim, gpointer data)
{
	see_granted(claim, data);
	if (g_str_equal(claim->tokens[0], "a"))
		g_free(claims_fixture_must_grant(data, "z"));
}

static void test_a_watcher_may_grant(ClaimsFixture *f, gconstpointer data)
{
	static const RdmadClaimOps granting = { .granted = grant_more };
	g_autoptr(RdmadWatch) first G_GNUC_UNUSED = NULL, second G_GNUC_UNUSED = NULL;

	first = rdmad_claims_watch(f->claims, NULL, &granting, f);
	second = rdmad_claims_watch(f->claims, NULL, &see, f);
	g_free(claims_fixture_must_grant(f, "a"));
	/* Each watch hears each claim once. */
	expect_seen(f, "+a +a +z +z ");
}

static void test_a_borrowed_claim_lasts_for_the_turn(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "a");
	const RdmadClaim *claim = rdmad_claims_lookup(f->claims, id);

	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_assert_true(rdmad_claims_end(f->claims, id, "enough", NULL));
	g_assert_cmpstr(claim->id, ==, id);
}

static void test_what_a_module_leaves_is_reaped(ClaimsFixture *f, gconstpointer data)
{
	(void)!rdmad_claims_watch(f->claims, SOME_MODULE, &see, f);
	g_assert_cmpuint(rdmad_claims_reap(f->claims, NULL), ==, 0);
	g_assert_cmpuint(rdmad_claims_reap(f->claims, SOME_MODULE), ==, 1);
	g_free(claims_fixture_must_grant(f, "a"));
	expect_seen(f, "");
}

static void kind_append(const RdmadJournalEntry *entry, gpointer data)
{
	g_string_append_printf(data, "%s ", entry->kind);
}

static void test_the_journal_says_what_happened(ClaimsFixture *f, gconstpointer data)
{
	g_autofree char *id = claims_fixture_must_grant(f, "a");

	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_assert_true(rdmad_claims_detach(f->claims, id, "/ns", "net1", NULL));
	g_assert_true(rdmad_claims_end(f->claims, id, "enough", NULL));
	rdmad_journal_foreach(f->journal, 0, kind_append, f->seen);
	g_assert_cmpstr(f->seen->str, ==,
			"claim-granted claim-attached claim-detached claim-ended ");
}

/* ---- a disk that fails ---- */

/* Grants until it no longer works; the table then is what was acknowledged, here and on the disk. */
static void check_full_disk(ClaimsFixture *f, void (*free_space)(gpointer data), gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *before = NULL, *after = NULL,
			*first = claims_fixture_must_grant(f, "first");
	guint n = 0;

	while (!error) {
		g_autofree char *token = g_strdup_printf("token-%u", n++);
		g_autoptr(RdmadClaimRef) claim = NULL;

		g_clear_pointer(&before, g_free);
		before = claims_fixture_text(f);
		claim = claims_fixture_grant(f, token, &error);
		g_assert_true((claim == NULL) == (error != NULL));
		g_assert_cmpuint(n, <, 100000);
	}
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "rdmad.db"));
	g_assert_cmpstr(rdmad_claims_problem(f->claims), ==, error->message);
	expect(f, before);
	g_clear_error(&error);
	g_assert_null(claims_fixture_grant(f, "first,second", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(rdmad_claims_lookup(f->claims, first));
	expect(f, before);

	free_space(data);
	/* By itself; the next start finds the same. */
	g_free(claims_fixture_must_grant(f, "by-itself"));
	g_assert_null(rdmad_claims_problem(f->claims));
	g_assert_true(rdmad_claims_end(
		f->claims, rdmad_claims_by_token(f->claims, "rdma/hca", "by-itself")->id, "test",
		NULL));
	claims_fixture_reopen(f);
	expect(f, before);
	g_free(claims_fixture_must_grant(f, "another"));
	g_assert_null(rdmad_claims_problem(f->claims));
	after = g_strconcat(before, " another", NULL);
	expect(f, after);
}

static void limit_lift(gpointer data)
{
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, data), ==, 0);
}

static void test_a_file_that_may_not_grow_is_an_error(ClaimsFixture *f, gconstpointer data)
{
	struct rlimit old, small;

	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
	small = (struct rlimit){ 300000, old.rlim_max };
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	check_full_disk(f, limit_lift, &old);
}

static void tmpfs_grow(gpointer data)
{
	g_assert_cmpint(mount("none", data, NULL, MS_REMOUNT, "size=8m"), ==, 0);
}

static void test_a_full_disk_is_an_error(ClaimsFixture *f, gconstpointer data)
{
	ClaimsFixture full = { 0 };

	claims_fixture_setup(&full, NULL);
	rdmad_claims_free(full.claims);
	rdmad_state_close(full.state);
	if (mount("none", full.dir, "tmpfs", 0, "size=512k") < 0) {
		g_test_skip("may not mount a tmpfs");
	} else {
		full.state = rdmad_state_open(full.dir, NULL, NULL);
		full.claims = rdmad_claims_new(full.loop, full.state, full.journal, NULL);
		check_full_disk(&full, tmpfs_grow, full.dir);
		rdmad_claims_free(full.claims);
		rdmad_state_close(full.state);
		umount2(full.dir, MNT_DETACH);
	}
	full.state = rdmad_state_open(full.dir, NULL, NULL);
	full.claims = rdmad_claims_new(full.loop, full.state, full.journal, NULL);
	claims_fixture_teardown(&full, NULL);
}

/* ---- kill -9 ---- */

#define ID_BYTES 17

static G_GNUC_NORETURN void grant_for_ever(const char *dir, int out)
{
	ClaimsFixture f = { 0 };

	f.loop = rdmad_loop_new();
	f.journal = rdmad_journal_new(f.loop);
	f.state = rdmad_state_open(dir, NULL, NULL);
	f.claims = rdmad_claims_new(f.loop, f.state, f.journal, NULL);
	for (guint i = 0;; i++) {
		g_autofree char *token = g_strdup_printf("%d-%u", getpid(), i);
		g_autofree char *id = claims_fixture_must_grant(&f, token);
		g_autofree char *line = g_strconcat(id, "\n", NULL);

		if (write(out, line, ID_BYTES) != ID_BYTES)
			_exit(1);
	}
}

/* Reads the acknowledged ids until the pipe ends. */
static void collect_ids(int fd, GHashTable *ids)
{
	char line[ID_BYTES];

	while (read(fd, line, ID_BYTES) == ID_BYTES)
		g_hash_table_add(ids, g_strndup(line, ID_BYTES - 1));
}

static void kill_in_the_middle(const char *dir, GHashTable *ids)
{
	int fds[2];
	pid_t pid;

	g_assert_cmpint(pipe(fds), ==, 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		/* The journal's lines are not for the test's own report. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		grant_for_ever(dir, fds[1]);
	}
	close(fds[1]);
	g_usleep((gulong)g_test_rand_int_range(1000, 100000));
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	collect_ids(fds[0], ids);
	close(fds[0]);
}

static void test_kill_9_loses_no_acknowledged_claim(ClaimsFixture *f, gconstpointer data)
{
	g_autoptr(GHashTable) ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer id;

	for (guint round = 0; round < 20; round++) {
		claims_fixture_close(f);
		kill_in_the_middle(f->dir, ids);
		claims_fixture_open(f);
		g_hash_table_iter_init(&iter, ids);
		while (g_hash_table_iter_next(&iter, &id, NULL))
			g_assert_nonnull(rdmad_claims_lookup(f->claims, id));
		/* At most the one that was written and not yet acknowledged. */
		g_assert_cmpuint(rdmad_claims_count(f->claims), <=,
				 g_hash_table_size(ids) + round + 1);
	}
	g_test_message("%u acknowledged claims", g_hash_table_size(ids));
	g_assert_cmpuint(g_hash_table_size(ids), >, 0);
}

#define ADD(name)                                                                                  \
	g_test_add("/claims/" #name, ClaimsFixture, NULL, claims_fixture_setup, test_##name,       \
		   claims_fixture_teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(a_grant_is_found_and_survives);
	ADD(claims_come_oldest_first);
	ADD(each_container_that_shares_a_token_has_its_claim);
	ADD(no_token_has_claims_without_end);
	ADD(the_same_token_of_two_resources_is_two_claims);
	ADD(bad_grants_change_nothing);
	ADD(the_most_tokens_that_are_allowed);
	ADD(an_ended_claim_is_gone);
	ADD(attachments_are_replaced_by_name);
	ADD(bad_attachments_are_refused);
	ADD(a_watch_hears_everything_in_order);
	ADD(a_watcher_may_grant);
	ADD(a_borrowed_claim_lasts_for_the_turn);
	ADD(what_a_module_leaves_is_reaped);
	ADD(the_journal_says_what_happened);
	ADD(a_file_that_may_not_grow_is_an_error);
	ADD(a_full_disk_is_an_error);
	ADD(kill_9_loses_no_acknowledged_claim);
	return g_test_run();
}
