/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in the database: the statements, and rows to structs and back. */
#include "service/state-private.h"

#include <string.h>

#include "service/allocation-private.h"

static const char *const sql[STATE_N_STATEMENTS] = {
	[STATE_BEGIN] = "BEGIN IMMEDIATE",
	[STATE_COMMIT] = "COMMIT",
	[STATE_LOAD_ALLOCATIONS] =
		"SELECT seq, id, resource, owner, pod_namespace, pod_name, container,"
		" since_us, mode, boot, kubelet FROM allocations ORDER BY seq",
	[STATE_LOAD_SLOTS] = "SELECT allocation, slot, device FROM slots ORDER BY allocation, slot",
	[STATE_LOAD_ATTACHMENTS] = "SELECT allocation, netns, interface, rdma_device, addresses,"
				   " gid_index FROM attachments ORDER BY allocation, position",
	[STATE_FIND_ALLOCATION] = "SELECT seq FROM allocations WHERE id = ?1",
	[STATE_INSERT_ALLOCATION] =
		"INSERT INTO allocations (id, resource, owner, pod_namespace, pod_name,"
		" container, since_us, mode, boot, kubelet)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[STATE_UPDATE_ALLOCATION] =
		"UPDATE allocations SET pod_namespace = ?4, pod_name = ?5,"
		" container = ?6, mode = ?8, boot = ?9, kubelet = ?10 WHERE id = ?1",
	[STATE_DELETE_ALLOCATION] = "DELETE FROM allocations WHERE id = ?1",
	[STATE_INSERT_SLOT] = "INSERT INTO slots (allocation, resource, slot, device)"
			      " VALUES (?1, ?2, ?3, ?4)",
	[STATE_INSERT_ATTACHMENT] =
		"INSERT INTO attachments (allocation, position, netns, interface,"
		" rdma_device, addresses, gid_index)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[STATE_DELETE_ALL] = "DELETE FROM allocations",
	[STATE_DELETE_ATTACHMENTS] = "DELETE FROM attachments WHERE allocation = ?1",
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
			    rdmad_state_error(state, "cannot write an allocation", error);

	sqlite3_reset(st);
	return ok;
}

/* Strings outlive the step: no copies. */
static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

static gboolean find_allocation(RdmadState *state, const char *id, gint64 *seq, GError **error)
{
	sqlite3_stmt *st = state->statements[STATE_FIND_ALLOCATION];
	gboolean ok = TRUE;
	int code;

	bind_text(st, 1, id);
	code = sqlite3_step(st);
	*seq = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		ok = rdmad_state_error(state, "cannot find an allocation", error);
	sqlite3_reset(st);
	return ok;
}

static gboolean write_row(RdmadState *state, RdmadStatement which,
			  const RdmadAllocation *allocation, GError **error)
{
	sqlite3_stmt *st = state->statements[which];

	bind_text(st, 1, allocation->id);
	bind_text(st, 4, allocation->pod_namespace);
	bind_text(st, 5, allocation->pod_name);
	bind_text(st, 6, allocation->container);
	bind_text(st, 8, allocation->mode);
	bind_text(st, 9, allocation->boot);
	bind_text(st, 10, allocation->kubelet);
	if (which == STATE_INSERT_ALLOCATION) {
		bind_text(st, 2, allocation->resource);
		bind_text(st, 3, allocation->owner);
		sqlite3_bind_int64(st, 7, allocation->since_us);
	}
	return done(state, which, error);
}

static gboolean write_slots(RdmadState *state, const RdmadAllocation *allocation, gint64 seq,
			    GError **error)
{
	sqlite3_stmt *st = state->statements[STATE_INSERT_SLOT];

	sqlite3_bind_int64(st, 1, seq);
	bind_text(st, 2, allocation->resource);
	for (guint i = 0; allocation->slots[i]; i++) {
		bind_text(st, 3, allocation->slots[i]);
		bind_text(st, 4, allocation->devices[i]);
		if (!done(state, STATE_INSERT_SLOT, error))
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

static gboolean write_attachments(RdmadState *state, const RdmadAllocation *allocation, gint64 seq,
				  GError **error)
{
	sqlite3_bind_int64(state->statements[STATE_DELETE_ATTACHMENTS], 1, seq);
	if (!done(state, STATE_DELETE_ATTACHMENTS, error))
		return FALSE;
	for (guint i = 0; i < allocation->n_attachments; i++)
		if (!write_attachment(state, &allocation->attachments[i], seq, i, error))
			return FALSE;
	return TRUE;
}

gboolean rdmad_state_put_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error)
{
	gint64 seq;

	if (!find_allocation(state, allocation->id, &seq, error))
		return FALSE;
	if (seq)
		return write_row(state, STATE_UPDATE_ALLOCATION, allocation, error) &&
		       write_attachments(state, allocation, seq, error);
	if (!write_row(state, STATE_INSERT_ALLOCATION, allocation, error))
		return FALSE;
	seq = sqlite3_last_insert_rowid(state->db);
	return write_slots(state, allocation, seq, error) &&
	       write_attachments(state, allocation, seq, error);
}

gboolean rdmad_state_delete_allocation(RdmadState *state, const char *id, GError **error)
{
	bind_text(state->statements[STATE_DELETE_ALLOCATION], 1, id);
	return done(state, STATE_DELETE_ALLOCATION, error);
}

gboolean rdmad_state_delete_all(RdmadState *state, GError **error)
{
	return done(state, STATE_DELETE_ALL, error);
}

/* ---- reading ---- */

/* Rows of one statement, one ahead: those of the slots are in the order of the allocations. */
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

static void read_slots(Rows *rows, gint64 seq, RdmadAllocation *allocation)
{
	g_autoptr(GPtrArray) slots = g_ptr_array_new();
	g_autoptr(GPtrArray) devices = g_ptr_array_new();

	for (; rows_of(rows, seq); rows_next(rows)) {
		g_ptr_array_add(slots, text_at(rows, 1));
		g_ptr_array_add(devices, text_at(rows, 2));
	}
	g_ptr_array_add(slots, NULL);
	g_ptr_array_add(devices, NULL);
	allocation->slots = (char **)g_ptr_array_free(g_steal_pointer(&slots), FALSE);
	allocation->devices = (char **)g_ptr_array_free(g_steal_pointer(&devices), FALSE);
}

static void read_attachments(Rows *rows, gint64 seq, RdmadAllocation *allocation)
{
	for (; rows_of(rows, seq); rows_next(rows)) {
		g_autofree char *netns = text_at(rows, 1), *interface = text_at(rows, 2);
		g_autofree char *rdma_device = text_at(rows, 3), *addresses = text_at(rows, 4);
		g_auto(GStrv) lines = g_strsplit(addresses ?: "", "\n", -1);
		const RdmadAttachment at = { netns, interface, rdma_device, lines,
					     sqlite3_column_int(rows->st, 5) };

		rdmad_allocation_add_attachment(allocation, &at);
	}
}

static RdmadAllocation *read_allocation(Rows *allocations, Rows *slots, Rows *attachments)
{
	const gint64 seq = sqlite3_column_int64(allocations->st, 0);
	RdmadAllocation *allocation = rdmad_allocation_new(text_at(allocations, 1));

	allocation->resource = text_at(allocations, 2);
	allocation->owner = text_at(allocations, 3);
	allocation->pod_namespace = text_at(allocations, 4);
	allocation->pod_name = text_at(allocations, 5);
	allocation->container = text_at(allocations, 6);
	allocation->since_us = sqlite3_column_int64(allocations->st, 7);
	allocation->mode = text_at(allocations, 8);
	allocation->boot = text_at(allocations, 9);
	allocation->kubelet = text_at(allocations, 10);
	read_slots(slots, seq, allocation);
	read_attachments(attachments, seq, allocation);
	return allocation;
}

/* A failed read is no statement about the contents. */
static int reading_failed(const Rows *allocations, const Rows *slots, const Rows *attachments)
{
	return allocations->failed ?: slots->failed ?: attachments->failed;
}

static gboolean load(Rows *allocations, Rows *slots, Rows *attachments,
		     void (*fn)(const RdmadAllocation *allocation, gpointer data), gpointer data,
		     GError **error)
{
	int failed = reading_failed(allocations, slots, attachments);

	for (; !failed && allocations->more; rows_next(allocations)) {
		g_autoptr(RdmadAllocationRef) allocation =
			read_allocation(allocations, slots, attachments);

		failed = reading_failed(allocations, slots, attachments);
		if (failed)
			break;
		if (!rdmad_allocation_check(allocation, error)) {
			g_prefix_error(error, "database %s: ", allocations->state->path);
			return FALSE;
		}
		fn(rdmad_allocation_ref(allocation), data);
	}
	failed = reading_failed(allocations, slots, attachments);
	return !failed || rdmad_state_setup_error(allocations->state, failed, error);
}

gboolean rdmad_state_load_allocations(RdmadState *state,
				      void (*fn)(const RdmadAllocation *allocation, gpointer data),
				      gpointer data, GError **error)
{
	Rows allocations = rows_begin(state, STATE_LOAD_ALLOCATIONS);
	Rows slots = rows_begin(state, STATE_LOAD_SLOTS);
	Rows attachments = rows_begin(state, STATE_LOAD_ATTACHMENTS);
	const gboolean ok = load(&allocations, &slots, &attachments, fn, data, error);

	sqlite3_reset(allocations.st);
	sqlite3_reset(slots.st);
	sqlite3_reset(attachments.st);
	return ok;
}
