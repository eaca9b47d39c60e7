/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/users.h"

#include <rdmad/error.h>
#include <rdmad/random.h>
#include <rdmad/work.h>
#include <string.h>

#include "http/access/credentials.h"

#define KEY_SIZE 32

struct HttpUsers {
	RdmadWorkers *workers;
	const HttpCryptClass *crypt;
	GHashTable *hashes;
	char *nobody;	      /* the hash checked for unknown names */
	guint8 key[KEY_SIZE]; /* of the digests, so that they are useless outside this process */
	GHashTable *known;    /* digests of correct credentials */
	GHashTable *peers;    /* HttpPeer -> GINT_TO_POINTER(rank) */
	GQueue checks;	      /* Check; the first one is running, the others are sorted by rank */
};

typedef struct {
	const HttpCryptClass *crypt;
	char *hash, *password;
} Verification;

typedef struct {
	HttpAuthFunc fn;
	gpointer data;
} Waiter;

typedef struct {
	HttpUsers *users;
	HttpPeer peer; /* of the first waiter */
	char *digest;
	Verification *verification; /* NULL once it runs */
	gboolean is_user;
	RdmadJob *job;
	GArray *waiters; /* Waiter: all requests with the same credentials */
} Check;

static void verification_free(gpointer data)
{
	Verification *verification = data;

	if (!verification)
		return;
	explicit_bzero(verification->password, strlen(verification->password));
	g_free(verification->password);
	g_free(verification->hash);
	g_free(verification);
}

static void check_free(Check *check)
{
	rdmad_job_cancel(check->job);
	verification_free(check->verification);
	g_free(check->digest);
	g_array_unref(check->waiters);
	g_free(check);
}

/* ---- on a worker ---- */

static gpointer verification_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Verification *verification = input;
	gboolean *match = g_new(gboolean, 1);

	*match = verification->crypt->match(verification->hash, verification->password);
	return match;
}

/* ---- on the loop ---- */

static void users_start_next(HttpUsers *users);

/* Addresses with a correct password come first, then new ones, then by the number of failures. */
#define RANK_CORRECT (-1)

static int users_rank(const HttpUsers *users, const HttpPeer *peer)
{
	return GPOINTER_TO_INT(g_hash_table_lookup(users->peers, peer));
}

static void users_update_rank(HttpUsers *users, const HttpPeer *peer, HttpAuth answer)
{
	const int rank = users_rank(users, peer);

	if (answer == HTTP_AUTH_BUSY || rank == RANK_CORRECT)
		return;
	if (g_hash_table_size(users->peers) >= HTTP_USERS_PEERS)
		g_hash_table_remove_all(users->peers);
	g_hash_table_replace(users->peers, g_memdup2(peer, sizeof(*peer)),
			     GINT_TO_POINTER(answer == HTTP_AUTH_YES
						     ? RANK_CORRECT
						     : MIN(rank, G_MAXINT - 1) + 1));
}

static void users_cache(HttpUsers *users, const char *digest)
{
	if (g_hash_table_size(users->known) >= HTTP_USERS_KNOWN)
		g_hash_table_remove_all(users->known);
	g_hash_table_add(users->known, g_strdup(digest));
}

/* Calls the waiters and frees the check. */
static void check_report(Check *check, HttpAuth answer)
{
	while (check->waiters->len) {
		const Waiter waiter = g_array_index(check->waiters, Waiter, 0);

		g_array_remove_index(check->waiters, 0);
		waiter.fn(answer, waiter.data);
	}
	check_free(check);
}

/* Ends the running check.  Its waiters are notified last, because they may start another check. */
static void users_end_check(HttpUsers *users, HttpAuth answer)
{
	Check *check = g_queue_pop_head(&users->checks);

	if (answer == HTTP_AUTH_YES)
		users_cache(users, check->digest);
	users_update_rank(users, &check->peer, answer);
	users_start_next(users);
	check_report(check, answer);
}

static void verification_done(gpointer result, const GError *error, gpointer data)
{
	Check *check = data;
	g_autofree gboolean *match = result;
	HttpAuth answer = HTTP_AUTH_BUSY;

	check->job = NULL;
	if (match)
		answer = *match && check->is_user ? HTTP_AUTH_YES : HTTP_AUTH_NO;
	users_end_check(check->users, answer);
}

static const RdmadJobClass verification_class = {
	.name = "password",
	.run = verification_run,
	.done = verification_done,
	.free_input = verification_free,
	.free_result = g_free,
};

/* Starts the first check unless it runs already. */
static void users_start_next(HttpUsers *users)
{
	Check *check = g_queue_peek_head(&users->checks);

	if (!check || check->job)
		return;
	check->job = rdmad_work_submit(users->workers, NULL, &verification_class,
				       g_steal_pointer(&check->verification), 0, check, NULL);
	if (!check->job) /* the queue of the workers is full */
		users_end_check(users, HTTP_AUTH_BUSY);
}

static char *users_digest(const HttpUsers *users, const char *user, const char *hash,
			  const char *password)
{
	GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, users->key, KEY_SIZE);
	char *digest;

	/* The NULs separate the parts: without them, different parts could give the same input. */
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

/* If the queue is full, drops its last entry, provided that the new one has a better rank. */
static gboolean users_make_room(HttpUsers *users, int rank)
{
	Check *last;

	if (users->checks.length < HTTP_USERS_CHECKS)
		return TRUE;
	last = g_queue_peek_tail(&users->checks);
	if (last->job || users_rank(users, &last->peer) <= rank)
		return FALSE;
	g_queue_pop_tail(&users->checks);
	check_report(last, HTTP_AUTH_BUSY);
	return TRUE;
}

static gboolean users_have_room(HttpUsers *users, const HttpPeer *peer)
{
	for (const GList *l = users->checks.head; l; l = l->next) {
		const Check *check = l->data;

		/* A check without waiters is running and ends soon. */
		if (check->waiters->len && http_peer_equal(&check->peer, peer))
			return FALSE;
	}
	return users_make_room(users, users_rank(users, peer));
}

/* Inserts after the running check and all checks whose rank is not worse. */
static void users_queue(HttpUsers *users, Check *check)
{
	const int rank = users_rank(users, &check->peer);
	GList *before = users->checks.head;

	while (before && (((Check *)before->data)->job ||
			  users_rank(users, &((Check *)before->data)->peer) <= rank))
		before = before->next;
	g_queue_insert_before(&users->checks, before, check);
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
	check->verification = g_new0(Verification, 1);
	check->verification->crypt = users->crypt;
	check->verification->hash = g_strdup(hash);
	check->verification->password = g_strdup(password);
	users_queue(users, check);
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
	if (!check && !users_have_room(users, peer))
		return HTTP_AUTH_BUSY;
	if (!check)
		check = check_new(users, peer, digest, hash, credentials->password, own != NULL);
	g_array_append_val(check->waiters, waiter);
	users_start_next(users);
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
		/* No waiter is left, and the check has not started. */
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

/* Keeps the caches of `before`: a digest covers the hash, so a changed password has no cached
 * digest. */
static void users_inherit(HttpUsers *users, const HttpUsers *before)
{
	if (before) {
		memcpy(users->key, before->key, KEY_SIZE);
		users->known = g_hash_table_ref(before->known);
		users->peers = g_hash_table_ref(before->peers);
		return;
	}
	if (!rdmad_random_secret(users->key, KEY_SIZE))
		g_error("no random numbers");
	users->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	users->peers = g_hash_table_new_full(http_peer_hash, http_peer_equal, g_free, NULL);
}

HttpUsers *http_users_new(RdmadWorkers *workers, const HttpCryptClass *crypt, GHashTable *hashes,
			  const HttpUsers *before)
{
	HttpUsers *users = g_new0(HttpUsers, 1);

	users->workers = workers;
	users->crypt = crypt;
	users->hashes = g_hash_table_ref(hashes);
	users->nobody = rdmad_bcrypt_nobody(highest_cost(hashes));
	g_queue_init(&users->checks);
	users_inherit(users, before);
	return users;
}

void http_users_free(HttpUsers *users)
{
	Check *check;

	if (!users)
		return;
	while ((check = g_queue_pop_head(&users->checks)))
		check_report(check, HTTP_AUTH_BUSY);
	g_hash_table_unref(users->hashes);
	g_hash_table_unref(users->known);
	g_hash_table_unref(users->peers);
	explicit_bzero(users->key, KEY_SIZE);
	g_free(users->nobody);
	g_free(users);
}
