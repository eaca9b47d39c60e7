/* SPDX-License-Identifier: Apache-2.0 */
/* Claims in the database: the statements, and rows to structs and back. */
#include "service/state-private.h"

#include <string.h>

#include "service/claim-private.h"

static const char *const sql[STATE_N_STATEMENTS] = {
	[STATE_BEGIN] = "BEGIN IMMEDIATE",
	[STATE_COMMIT] = "COMMIT",
	[STATE_LOAD_CLAIMS] = "SELECT seq, id, resource, owner, pod_namespace, pod_name, container,"
			      " since_us, mode, boot, kubelet FROM claims ORDER BY seq",
	[STATE_LOAD_TOKENS] = "SELECT claim, token, device FROM tokens ORDER BY claim, token",
	[STATE_LOAD_ATTACHMENTS] = "SELECT claim, netns, interface, rdma_device, addresses,"
				   " gid_index FROM attachments ORDER BY claim, position",
	[STATE_FIND_CLAIM] = "SELECT seq FROM claims WHERE id = ?1",
	[STATE_INSERT_CLAIM] = "INSERT INTO claims (id, resource, owner, pod_namespace, pod_name,"
			       " container, since_us, mode, boot, kubelet)"
			       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[STATE_UPDATE_CLAIM] = "UPDATE claims SET pod_namespace = ?4, pod_name = ?5,"
			       " container = ?6, mode = ?8, boot = ?9, kubelet = ?10 WHERE id = ?1",
	[STATE_DELETE_CLAIM] = "DELETE FROM claims WHERE id = ?1",
	[STATE_INSERT_TOKEN] = "INSERT INTO tokens (claim, resource, token, device)"
			       " VALUES (?1, ?2, ?3, ?4)",
	[STATE_INSERT_ATTACHMENT] = "INSERT INTO attachments (claim, position, netns, interface,"
				    " rdma_device, addresses, gid_index)"
				    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[STATE_DELETE_ALL] = "DELETE FROM claims",
	[STATE_DELETE_ATTACHMENTS] = "DELETE FROM attachments WHERE claim = ?1",
};

gboolean rdmad_state_prepare(RdmadState *state, GError **error)
{
	for (guint i = 0; i < STATE_N_STATEMENTS; i++)
		if (sqlite3_prepare_v3(state->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &state->statements[i], NULL) != SQLITE_OK)
			return rdmad_state_setup_error(state, sqlite3_errcode(state->db), error);
	return TRUE;
}

/* ---- writing ---- */

static gboolean done(RdmadState *state, RdmadStatement which, GError **error)
{
	sqlite3_stmt *st = state->statements[which];
	const gboolean ok = sqlite3_step(st) == SQLITE_DONE ||
			    rdmad_state_error(state, "cannot write a claim", error);

	sqlite3_reset(st);
	return ok;
}

/* Strings outlive the step: no copies. */
static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

static gboolean find_claim(RdmadState *state, const char *id, gint64 *seq, GError **error)
{
	sqlite3_stmt *st = state->statements[STATE_FIND_CLAIM];
	gboolean ok = TRUE;
	int code;

	bind_text(st, 1, id);
	code = sqlite3_step(st);
	*seq = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		ok = rdmad_state_error(state, "cannot look for a claim", error);
	sqlite3_reset(st);
	return ok;
}

static gboolean write_row(RdmadState *state, RdmadStatement which, const RdmadClaim *claim,
			  GError **error)
{
	sqlite3_stmt *st = state->statements[which];

	bind_text(st, 1, claim->id);
	bind_text(st, 4, claim->pod_namespace);
	bind_text(st, 5, claim->pod_name);
	bind_text(st, 6, claim->container);
	bind_text(st, 8, claim->mode);
	bind_text(st, 9, claim->boot);
	bind_text(st, 10, claim->kubelet);
	if (which == STATE_INSERT_CLAIM) {
		bind_text(st, 2, claim->resource);
		bind_text(st, 3, claim->owner);
		sqlite3_bind_int64(st, 7, claim->since_us);
	}
	return done(state, which, error);
}

static gboolean write_tokens(RdmadState *state, const RdmadClaim *claim, gint64 seq, GError **error)
{
	sqlite3_stmt *st = state->statements[STATE_INSERT_TOKEN];

	sqlite3_bind_int64(st, 1, seq);
	bind_text(st, 2, claim->resource);
	for (guint i = 0; claim->tokens[i]; i++) {
		bind_text(st, 3, claim->tokens[i]);
		bind_text(st, 4, claim->devices[i]);
		if (!done(state, STATE_INSERT_TOKEN, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean write_attachment(RdmadState *state, const RdmadAttachment *at, gint64 seq,
				 guint position, GError **error)
{
	g_autofree char *addresses = g_strjoinv("\n", at->addresses);
	sqlite3_stmt *st = state->statements[STATE_INSERT_ATTACHMENT];

	sqlite3_bind_int64(st, 1, seq);
	sqlite3_bind_int64(st, 2, position);
	bind_text(st, 3, at->netns);
	bind_text(st, 4, at->interface);
	bind_text(st, 5, at->rdma_device);
	bind_text(st, 6, addresses);
	sqlite3_bind_int(st, 7, at->gid_index);
	return done(state, STATE_INSERT_ATTACHMENT, error);
}

static gboolean write_attachments(RdmadState *state, const RdmadClaim *claim, gint64 seq,
				  GError **error)
{
	sqlite3_bind_int64(state->statements[STATE_DELETE_ATTACHMENTS], 1, seq);
	if (!done(state, STATE_DELETE_ATTACHMENTS, error))
		return FALSE;
	for (guint i = 0; i < claim->n_attachments; i++)
		if (!write_attachment(state, &claim->attachments[i], seq, i, error))
			return FALSE;
	return TRUE;
}

gboolean rdmad_state_put_claim(RdmadState *state, const RdmadClaim *claim, GError **error)
{
	gint64 seq;

	if (!find_claim(state, claim->id, &seq, error))
		return FALSE;
	if (seq)
		return write_row(state, STATE_UPDATE_CLAIM, claim, error) &&
		       write_attachments(state, claim, seq, error);
	if (!write_row(state, STATE_INSERT_CLAIM, claim, error))
		return FALSE;
	seq = sqlite3_last_insert_rowid(state->db);
	return write_tokens(state, claim, seq, error) &&
	       write_attachments(state, claim, seq, error);
}

gboolean rdmad_state_delete_claim(RdmadState *state, const char *id, GError **error)
{
	bind_text(state->statements[STATE_DELETE_CLAIM], 1, id);
	return done(state, STATE_DELETE_CLAIM, error);
}

gboolean rdmad_state_delete_all(RdmadState *state, GError **error)
{
	return done(state, STATE_DELETE_ALL, error);
}

/* ---- reading ---- */

/* Rows of one statement, one ahead: those of the tokens are in the order of the claims. */
typedef struct {
	RdmadState *state;
	sqlite3_stmt *st;
	gboolean more;
	int failed; /* the code of the first error */
} Rows;

static void rows_next(Rows *rows)
{
	const int code = sqlite3_step(rows->st);

	rows->more = code == SQLITE_ROW;
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		rows->failed = code;
}

static Rows rows_begin(RdmadState *state, RdmadStatement which)
{
	Rows rows = { state, state->statements[which], FALSE, SQLITE_OK };

	rows_next(&rows);
	return rows;
}

static gboolean rows_of(const Rows *rows, gint64 seq)
{
	return rows->more && sqlite3_column_int64(rows->st, 0) == seq;
}

/* A NUL in the middle cuts it, so that it fails the check or is only shorter. */
static char *text_at(Rows *rows, int column)
{
	const gboolean is_null = sqlite3_column_type(rows->st, column) == SQLITE_NULL;
	const char *text = (const char *)sqlite3_column_text(rows->st, column);

	if (!text && !is_null)
		rows->failed = SQLITE_NOMEM;
	return g_strdup(text);
}

static void read_tokens(Rows *rows, gint64 seq, RdmadClaim *claim)
{
	g_autoptr(GPtrArray) tokens = g_ptr_array_new();
	g_autoptr(GPtrArray) devices = g_ptr_array_new();

	for (; rows_of(rows, seq); rows_next(rows)) {
		g_ptr_array_add(tokens, text_at(rows, 1));
		g_ptr_array_add(devices, text_at(rows, 2));
	}
	g_ptr_array_add(tokens, NULL);
	g_ptr_array_add(devices, NULL);
	claim->tokens = (char **)g_ptr_array_free(g_steal_pointer(&tokens), FALSE);
	claim->devices = (char **)g_ptr_array_free(g_steal_pointer(&devices), FALSE);
}

static void read_attachments(Rows *rows, gint64 seq, RdmadClaim *claim)
{
	for (; rows_of(rows, seq); rows_next(rows)) {
		g_autofree char *netns = text_at(rows, 1), *interface = text_at(rows, 2);
		g_autofree char *rdma_device = text_at(rows, 3), *addresses = text_at(rows, 4);
		g_auto(GStrv) lines = g_strsplit(addresses ?: "", "\n", -1);
		const RdmadAttachment at = { netns, interface, rdma_device, lines,
					     sqlite3_column_int(rows->st, 5) };

		rdmad_claim_add_attachment(claim, &at);
	}
}

static RdmadClaim *read_claim(Rows *claims, Rows *tokens, Rows *attachments)
{
	const gint64 seq = sqlite3_column_int64(claims->st, 0);
	RdmadClaim *claim = rdmad_claim_new(text_at(claims, 1));

	claim->resource = text_at(claims, 2);
	claim->owner = text_at(claims, 3);
	claim->pod_namespace = text_at(claims, 4);
	claim->pod_name = text_at(claims, 5);
	claim->container = text_at(claims, 6);
	claim->since_us = sqlite3_column_int64(claims->st, 7);
	claim->mode = text_at(claims, 8);
	claim->boot = text_at(claims, 9);
	claim->kubelet = text_at(claims, 10);
	read_tokens(tokens, seq, claim);
	read_attachments(attachments, seq, claim);
	return claim;
}

/* What could not be read says nothing about what is there. */
static int reading_failed(const Rows *claims, const Rows *tokens, const Rows *attachments)
{
	return claims->failed ?: tokens->failed ?: attachments->failed;
}

static gboolean load(Rows *claims, Rows *tokens, Rows *attachments,
		     void (*fn)(const RdmadClaim *claim, gpointer data), gpointer data,
		     GError **error)
{
	int failed = reading_failed(claims, tokens, attachments);

	for (; !failed && claims->more; rows_next(claims)) {
		g_autoptr(RdmadClaimRef) claim = read_claim(claims, tokens, attachments);

		failed = reading_failed(claims, tokens, attachments);
		if (failed)
			break;
		if (!rdmad_claim_check(claim, error)) {
			g_prefix_error(error, "database %s: ", claims->state->path);
			return FALSE;
		}
		fn(rdmad_claim_ref(claim), data);
	}
	failed = reading_failed(claims, tokens, attachments);
	return !failed || rdmad_state_setup_error(claims->state, failed, error);
}

gboolean rdmad_state_load_claims(RdmadState *state,
				 void (*fn)(const RdmadClaim *claim, gpointer data), gpointer data,
				 GError **error)
{
	Rows claims = rows_begin(state, STATE_LOAD_CLAIMS);
	Rows tokens = rows_begin(state, STATE_LOAD_TOKENS);
	Rows attachments = rows_begin(state, STATE_LOAD_ATTACHMENTS);
	const gboolean ok = load(&claims, &tokens, &attachments, fn, data, error);

	sqlite3_reset(claims.st);
	sqlite3_reset(tokens.st);
	sqlite3_reset(attachments.st);
	return ok;
}
