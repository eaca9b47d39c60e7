/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/users.h"

#include <rdmad/loop.h>
#include <string.h>

#include "base/loop.h"
#include "base/work.h"
#include "../support/unit.h"

/* "U*U", at the lowest cost for which a table of hashes exists. */
#define HASH "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"

/* Of rdmad-crypt.so, which is linked in. */
extern const HttpCryptClass rdmad_http_crypt;

typedef struct {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	GHashTable *hashes;
	HttpUsers *users;
	guint answers[4]; /* by HttpAuth */
	guint wrong_before;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->workers = rdmad_workers_new(f->loop, 4, NULL);
	f->hashes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_hash_table_insert(f->hashes, g_strdup("alice"), g_strdup(HASH));
	f->users = http_users_new(f->workers, &rdmad_http_crypt, f->hashes, NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	http_users_free(f->users);
	g_hash_table_unref(f->hashes);
	rdmad_workers_free(f->workers);
	rdmad_loop_free(f->loop);
}

static void note(HttpAuth answer, gpointer data)
{
	((Fixture *)data)->answers[answer]++;
}

static HttpAuth ask_from(Fixture *f, guint8 address, const char *user, const char *password)
{
	const HttpPeer peer = { { address } };
	g_autofree char *both = g_strconcat(user, ":", password, NULL);
	g_autofree char *code = g_base64_encode((const guchar *)both, strlen(both));
	g_autofree char *value = g_strconcat("Basic ", code, NULL);

	return http_users_ask(f->users, &peer, value, note, f);
}

static HttpAuth ask(Fixture *f, const char *user, const char *password)
{
	return ask_from(f, 0, user, password);
}

static void wait_for(Fixture *f, guint n)
{
	while (f->answers[0] + f->answers[1] + f->answers[2] < n)
		rdmad_loop_turn(f->loop);
}

static void test_the_right_password_is_checked_once(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, "alice", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 1);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 1);
	g_assert_cmpint(ask(f, "alice", "U*U"), ==, HTTP_AUTH_YES);
}

static void test_a_wrong_one_is_checked_each_time(Fixture *f, gconstpointer data)
{
	for (guint i = 1; i <= 2; i++) {
		g_assert_cmpint(ask(f, "alice", "wrong"), ==, HTTP_AUTH_LATER);
		wait_for(f, i);
	}
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], ==, 2);
}

static void test_a_name_that_is_not_there_takes_as_long(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, "bob", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 1);
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], ==, 1);
	g_assert_cmpint(ask(f, "bob", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 2);
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], ==, 2);
}

static void test_nothing_is_no(Fixture *f, gconstpointer data)
{
	const HttpPeer peer = { { 0 } };

	g_assert_cmpint(http_users_ask(f->users, &peer, NULL, note, f), ==, HTTP_AUTH_NO);
	g_assert_cmpint(http_users_ask(f->users, &peer, "", note, f), ==, HTTP_AUTH_NO);
	g_assert_cmpint(http_users_ask(f->users, &peer, "Bearer x", note, f), ==, HTTP_AUTH_NO);
}

static void test_equal_credentials_share_one_check(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 20; i++)
		g_assert_cmpint(ask(f, "alice", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 20);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 20);
}

static void test_few_may_wait(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < HTTP_USERS_CHECKS; i++) {
		g_autofree char *guess = g_strdup_printf("%u", i);

		g_assert_cmpint(ask_from(f, i, "alice", guess), ==, HTTP_AUTH_LATER);
	}
	g_assert_cmpint(ask_from(f, HTTP_USERS_CHECKS, "alice", "U*U"), ==, HTTP_AUTH_BUSY);
	wait_for(f, HTTP_USERS_CHECKS);
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], ==, HTTP_USERS_CHECKS);
	g_assert_cmpint(ask(f, "alice", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, HTTP_USERS_CHECKS + 1);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 1);
}

static void test_who_guesses_keeps_out_no_other_address(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask_from(f, 1, "alice", "a guess"), ==, HTTP_AUTH_LATER);
	g_assert_cmpint(ask_from(f, 1, "alice", "another"), ==, HTTP_AUTH_BUSY);
	g_assert_cmpint(ask_from(f, 2, "alice", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 2);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 1);
	g_assert_cmpint(ask_from(f, 1, "alice", "another"), ==, HTTP_AUTH_LATER);
}

static void test_a_client_that_left_gets_no_answer(Fixture *f, gconstpointer data)
{
	const HttpPeer peer = { { 1 } };
	Fixture other = { 0 };

	ask(f, "alice", "U*U");
	g_assert_cmpint(http_users_ask(f->users, &peer, "Basic YWxpY2U6VSpV", note, &other), ==,
			HTTP_AUTH_LATER);
	http_users_forget(f->users, f);
	while (!other.answers[HTTP_AUTH_YES])
		rdmad_loop_turn(f->loop);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 0);
}

static void test_what_nobody_waits_for_takes_no_place(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 10 * HTTP_USERS_CHECKS; i++) {
		g_autofree char *guess = g_strdup_printf("%u", i);

		g_assert_cmpint(ask(f, "alice", guess), ==, HTTP_AUTH_LATER);
		http_users_forget(f->users, f);
	}
	g_assert_cmpint(ask(f, "alice", "U*U"), ==, HTTP_AUTH_LATER);
	wait_for(f, 1);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 1);
}

static void test_waiters_are_notified_at_the_end(Fixture *f, gconstpointer data)
{
	ask_from(f, 1, "alice", "U*U");
	ask_from(f, 2, "alice", "wrong");
	http_users_free(g_steal_pointer(&f->users));
	g_assert_cmpuint(f->answers[HTTP_AUTH_BUSY], ==, 2);
}

/* Sends a wrong password from each address of the flood. */
static void flood(Fixture *f, guint round)
{
	for (guint i = 0; i < HTTP_USERS_CHECKS; i++) {
		g_autofree char *guess = g_strdup_printf("%u of %u", i, round);

		g_assert_cmpint(ask_from(f, 100 + i, "alice", guess), ==, HTTP_AUTH_LATER);
	}
}

static void note_how_many_were_wrong(HttpAuth answer, gpointer data)
{
	Fixture *f = data;

	f->answers[answer]++;
	if (answer == HTTP_AUTH_YES)
		f->wrong_before = f->answers[HTTP_AUTH_NO];
}

static HttpAuth ask_right(Fixture *f)
{
	const HttpPeer peer = { { 1 } };

	return http_users_ask(f->users, &peer, "Basic YWxpY2U6VSpV", note_how_many_were_wrong, f);
}

static void test_who_was_wrong_before_waits_for_who_was_not(Fixture *f, gconstpointer data)
{
	const guint n = HTTP_USERS_CHECKS;

	flood(f, 1);
	wait_for(f, n);
	flood(f, 2); /* the queue is full: its last entry is dropped */
	g_assert_cmpint(ask_right(f), ==, HTTP_AUTH_LATER);
	g_assert_cmpuint(f->answers[HTTP_AUTH_BUSY], ==, 1);
	wait_for(f, 2 * n + 1);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 1);
	g_assert_cmpuint(f->wrong_before, ==, n + 1);
}

static void test_who_was_right_is_known_under_a_new_configuration(Fixture *f, gconstpointer data)
{
	HttpUsers *before = f->users;

	g_assert_cmpint(ask_right(f), ==, HTTP_AUTH_LATER);
	wait_for(f, 1);
	f->users = http_users_new(f->workers, &rdmad_http_crypt, f->hashes, before);
	http_users_free(before);
	flood(f, 1);
	g_assert_cmpint(ask_right(f), ==, HTTP_AUTH_YES);
}

static void test_another_password_is_asked_for_under_a_new_configuration(Fixture *f,
									 gconstpointer data)
{
	g_autoptr(GHashTable) hashes =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	HttpUsers *before = f->users;

	g_assert_cmpint(ask_right(f), ==, HTTP_AUTH_LATER);
	wait_for(f, 1);
	/* "U*U*" */
	g_hash_table_insert(
		hashes, g_strdup("alice"),
		g_strdup("$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"));
	f->users = http_users_new(f->workers, &rdmad_http_crypt, hashes, before);
	http_users_free(before);
	g_assert_cmpint(ask_right(f), ==, HTTP_AUTH_LATER);
	wait_for(f, 2);
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], ==, 1);
	/* The address had a correct password, so it precedes the flood. */
	flood(f, 1);
	g_assert_cmpint(ask_from(f, 1, "alice", "U*U*"), ==, HTTP_AUTH_LATER);
	wait_for(f, 5);
	g_assert_cmpuint(f->answers[HTTP_AUTH_YES], ==, 2);
	g_assert_cmpuint(f->answers[HTTP_AUTH_NO], <=, 2);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/http-users/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_right_password_is_checked_once),
	TEST(a_wrong_one_is_checked_each_time),
	TEST(a_name_that_is_not_there_takes_as_long),
	TEST(nothing_is_no),
	TEST(equal_credentials_share_one_check),
	TEST(few_may_wait),
	TEST(who_guesses_keeps_out_no_other_address),
	TEST(a_client_that_left_gets_no_answer),
	TEST(what_nobody_waits_for_takes_no_place),
	TEST(who_was_wrong_before_waits_for_who_was_not),
	TEST(who_was_right_is_known_under_a_new_configuration),
	TEST(another_password_is_asked_for_under_a_new_configuration),
	TEST(waiters_are_notified_at_the_end),
	{ 0 },
};
