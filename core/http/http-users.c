/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http-users.h"

#include <rdmad/error.h>
#include <rdmad/work.h>
#include <string.h>
#include <sys/random.h>

#include "http/bcrypt.h"
#include "http/http-credentials.h"

#define KEY_SIZE 32

struct HttpUsers {
	RdmadWorkers *workers;
	GHashTable *hashes;
	char *nobody;	      /* a hash for names that are not there */
	guint8 key[KEY_SIZE]; /* of the digests below: they are worth nothing elsewhere */
	GHashTable *known;    /* digests of what was right */
	GQueue checks;	      /* Check; the first one is under way */
};

typedef struct {
	char *hash, *password;
	gboolean match;
} Guess;

typedef struct {
	HttpAuthFunc fn;
	gpointer data;
} Waiter;

typedef struct {
	HttpUsers *users;
	HttpPeer peer; /* of the first who asked */
	char *digest;
	Guess *guess; /* until it is under way */
	gboolean is_user;
	RdmadJob *job;
	GArray *waiters; /* Waiter: all who sent the same */
} Check;

static void guess_free(gpointer data)
{
	Guess *guess = data;

	if (!guess)
		return;
	explicit_bzero(guess->password, strlen(guess->password));
	g_free(guess->password);
	g_free(guess->hash);
	g_free(guess);
}

static void check_free(Check *check)
{
	rdmad_job_cancel(check->job);
	guess_free(check->guess);
	g_free(check->digest);
	g_array_unref(check->waiters);
	g_free(check);
}

/* ---- on a worker ---- */

static gpointer guess_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Guess *guess = input;
	gboolean *match = g_new(gboolean, 1);

	*match = rdmad_bcrypt_match(guess->hash, guess->password);
	return match;
}

/* ---- on the loop ---- */

static void users_begin(HttpUsers *users);

static void users_remember(HttpUsers *users, const char *digest)
{
	if (g_hash_table_size(users->known) >= HTTP_USERS_KNOWN)
		g_hash_table_remove_all(users->known);
	g_hash_table_add(users->known, g_strdup(digest));
}

/* The check under way has come to an end; its waiters hear of it last, for they may ask again. */
static void users_end(HttpUsers *users, HttpAuth answer)
{
	Check *check = g_queue_pop_head(&users->checks);

	if (answer == HTTP_AUTH_YES)
		users_remember(users, check->digest);
	users_begin(users);
	while (check->waiters->len) {
		const Waiter waiter = g_array_index(check->waiters, Waiter, 0);

		g_array_remove_index(check->waiters, 0);
		waiter.fn(answer, waiter.data);
	}
	check_free(check);
}

static void guess_done(gpointer result, const GError *error, gpointer data)
{
	Check *check = data;
	g_autofree gboolean *match = result;
	HttpAuth answer = HTTP_AUTH_BUSY;

	check->job = NULL;
	if (match)
		answer = *match && check->is_user ? HTTP_AUTH_YES : HTTP_AUTH_NO;
	users_end(check->users, answer);
}

static const RdmadJobClass guess_class = {
	.name = "password",
	.run = guess_run,
	.done = guess_done,
	.free_input = guess_free,
	.free_result = g_free,
};

/* Starts the first check, unless it is under way or there is none. */
static void users_begin(HttpUsers *users)
{
	Check *check = g_queue_peek_head(&users->checks);

	if (!check || check->job)
		return;
	check->job = rdmad_work_submit(users->workers, NULL, &guess_class,
				       g_steal_pointer(&check->guess), 0, check, NULL);
	if (!check->job) /* the workers have too much to do */
		users_end(users, HTTP_AUTH_BUSY);
}

static char *users_digest(const HttpUsers *users, const char *user, const char *hash,
			  const char *password)
{
	GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, users->key, KEY_SIZE);
	char *digest;

	/* With their NULs, so that no two run into each other. */
	g_hmac_update(hmac, (const guchar *)user, strlen(user) + 1);
	g_hmac_update(hmac, (const guchar *)hash, strlen(hash) + 1);
	g_hmac_update(hmac, (const guchar *)password, strlen(password) + 1);
	digest = g_strdup(g_hmac_get_string(hmac));
	g_hmac_unref(hmac);
	return digest;
}

static Check *users_find(HttpUsers *users, const char *digest)
{
	for (GList *l = users->checks.head; l; l = l->next)
		if (g_str_equal(((Check *)l->data)->digest, digest))
			return l->data;
	return NULL;
}

static gboolean users_have_place(const HttpUsers *users, const HttpPeer *peer)
{
	for (const GList *l = users->checks.head; l; l = l->next) {
		const Check *check = l->data;

		/* One that nobody waits for any more is under way, and soon over. */
		if (check->waiters->len && http_peer_equal(&check->peer, peer))
			return FALSE;
	}
	return users->checks.length < HTTP_USERS_CHECKS;
}

static Check *check_new(HttpUsers *users, const HttpPeer *peer, const char *digest,
			const char *hash, const char *password, gboolean is_user)
{
	Check *check = g_new0(Check, 1);

	check->users = users;
	check->peer = *peer;
	check->digest = g_strdup(digest);
	check->is_user = is_user;
	check->waiters = g_array_new(FALSE, FALSE, sizeof(Waiter));
	check->guess = g_new0(Guess, 1);
	check->guess->hash = g_strdup(hash);
	check->guess->password = g_strdup(password);
	g_queue_push_tail(&users->checks, check);
	return check;
}

static HttpAuth users_ask(HttpUsers *users, const HttpPeer *peer,
			  const HttpCredentials *credentials, HttpAuthFunc fn, gpointer data)
{
	const char *own = g_hash_table_lookup(users->hashes, credentials->user);
	const char *hash = own ?: users->nobody;
	g_autofree char *digest =
		users_digest(users, credentials->user, hash, credentials->password);
	const Waiter waiter = { fn, data };
	Check *check;

	if (g_hash_table_contains(users->known, digest))
		return HTTP_AUTH_YES;
	check = users_find(users, digest);
	if (!check && !users_have_place(users, peer))
		return HTTP_AUTH_BUSY;
	if (!check)
		check = check_new(users, peer, digest, hash, credentials->password, own != NULL);
	g_array_append_val(check->waiters, waiter);
	users_begin(users);
	return HTTP_AUTH_LATER;
}

HttpAuth http_users_ask(HttpUsers *users, const HttpPeer *peer, const char *authorization,
			HttpAuthFunc fn, gpointer data)
{
	HttpCredentials credentials;
	HttpAuth answer = HTTP_AUTH_NO;

	if (!authorization)
		return HTTP_AUTH_NO;
	if (http_credentials_parse(authorization, &credentials))
		answer = users_ask(users, peer, &credentials, fn, data);
	http_credentials_clear(&credentials);
	return answer;
}

static void check_forget(Check *check, gconstpointer data)
{
	for (guint i = check->waiters->len; i-- > 0;)
		if (g_array_index(check->waiters, Waiter, i).data == data)
			g_array_remove_index(check->waiters, i);
}

void http_users_forget(HttpUsers *users, gpointer data)
{
	for (GList *l = users->checks.head, *next; l; l = next) {
		Check *check = l->data;

		next = l->next;
		check_forget(check, data);
		if (check->waiters->len || check->job)
			continue;
		/* Nobody wants to know, and nobody has begun. */
		g_queue_delete_link(&users->checks, l);
		check_free(check);
	}
}

static int highest_cost(GHashTable *hashes)
{
	GHashTableIter iter;
	gpointer hash;
	int highest = 0;

	g_hash_table_iter_init(&iter, hashes);
	while (g_hash_table_iter_next(&iter, NULL, &hash))
		highest = MAX(highest, rdmad_bcrypt_cost(hash));
	return highest;
}

HttpUsers *http_users_new(RdmadWorkers *workers, GHashTable *hashes)
{
	HttpUsers *users = g_new0(HttpUsers, 1);

	users->workers = workers;
	users->hashes = g_hash_table_ref(hashes);
	users->nobody = rdmad_bcrypt_nobody(highest_cost(hashes));
	users->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_queue_init(&users->checks);
	if (getrandom(users->key, KEY_SIZE, 0) != KEY_SIZE)
		g_error("no random numbers");
	return users;
}

void http_users_free(HttpUsers *users)
{
	Check *check;

	if (!users)
		return;
	while ((check = g_queue_pop_head(&users->checks))) {
		for (guint i = 0; i < check->waiters->len; i++) {
			const Waiter *waiter = &g_array_index(check->waiters, Waiter, i);

			waiter->fn(HTTP_AUTH_BUSY, waiter->data);
		}
		check_free(check);
	}
	g_hash_table_unref(users->hashes);
	g_hash_table_unref(users->known);
	explicit_bzero(users->key, KEY_SIZE);
	g_free(users->nobody);
	g_free(users);
}
