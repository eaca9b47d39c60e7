/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in the database: statements, and conversion of rows. */
#include "service/state-private.h"

#include <rdmad/device.h>
#include <string.h>

#include "service/allocation-private.h"

#define FILE_WORDS	6u /* of a line of device files */
#define FILES_BYTES_MAX (8 << 20)

static const char *const sql[STATE_N_STATEMENTS] = {
	[STATE_BEGIN] = "BEGIN IMMEDIATE",
	[STATE_COMMIT] = "COMMIT",
	[STATE_LOAD_ALLOCATIONS] =
		"SELECT seq, id, resource, owner, pod_namespace, pod_name, container,"
		" since_us, mode, boot, kubelet, slots, devices, pod_cgroup, files, cdi"
		" FROM allocations ORDER BY seq",
	[STATE_LOAD_ATTACHMENTS] = "SELECT allocation, netns, interface, rdma_device, addresses,"
				   " gid_index FROM attachments ORDER BY allocation, position",
	[STATE_INSERT_ALLOCATION] =
		"INSERT INTO allocations (seq, id, resource, owner, pod_namespace, pod_name,"
		" container, since_us, mode, boot, kubelet, slots, devices, pod_cgroup, files, cdi)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
	[STATE_UPDATE_ALLOCATION] = "UPDATE allocations SET pod_namespace = ?5, pod_name = ?6,"
				    " container = ?7, mode = ?9, boot = ?10, kubelet = ?11,"
				    " pod_cgroup = ?14, files = ?15 WHERE seq = ?1",
	[STATE_DELETE_ALLOCATION] = "DELETE FROM allocations WHERE seq = ?1",
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

/* Does not copy: the strings outlive the step. */
static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

/* Binds one entry per line; SQLite frees the text. */
static void bind_lines(sqlite3_stmt *st, int at, char *const *lines)
{
	sqlite3_bind_text(st, at, g_strjoinv("\n", (char **)lines), -1, g_free);
}

/* Binds one file per line, "0000:3b:00.0 uverbs 0 231 192 /dev/infiniband/uverbs0"; NULL: none. */
static void bind_files(sqlite3_stmt *st, int at, const RdmadAllocation *allocation)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < allocation->n_files; i++) {
		const RdmadAllocationFile *file = &allocation->files[i];

		g_string_append_printf(text, "%s%s %s %u %u %u %s", i ? "\n" : "", file->device,
				       rdmad_chardev_kind_name((RdmadChardevKind)file->kind),
				       file->port, file->major, file->minor, file->path);
	}
	sqlite3_bind_text(st, at, g_string_free(text, !allocation->n_files), -1, g_free);
}

static gboolean write_row(RdmadState *state, RdmadStatement which,
			  const RdmadAllocation *allocation, GError **error)
{
	sqlite3_stmt *st = state->statements[which];

	sqlite3_bind_int64(st, 1, allocation->number);
	bind_text(st, 5, allocation->pod_namespace);
	bind_text(st, 6, allocation->pod_name);
	bind_text(st, 7, allocation->container);
	bind_text(st, 9, allocation->mode);
	bind_text(st, 10, allocation->boot);
	bind_text(st, 11, allocation->kubelet);
	bind_text(st, 14, allocation->pod_cgroup);
	bind_files(st, 15, allocation);
	if (which == STATE_INSERT_ALLOCATION) {
		bind_text(st, 2, allocation->id);
		bind_text(st, 3, allocation->resource);
		bind_text(st, 4, allocation->owner);
		sqlite3_bind_int64(st, 8, allocation->since_us);
		bind_lines(st, 12, allocation->slots);
		bind_lines(st, 13, allocation->devices);
		sqlite3_bind_int(st, 16, allocation->cdi);
	}
	return done(state, which, error);
}

static gboolean write_attachment(RdmadState *state, const RdmadAttachment *at, gint64 number,
				 guint position, GError **error)
{
	sqlite3_stmt *st = state->statements[STATE_INSERT_ATTACHMENT];

	sqlite3_bind_int64(st, 1, number);
	sqlite3_bind_int64(st, 2, position);
	bind_text(st, 3, at->netns);
	bind_text(st, 4, at->interface);
	bind_text(st, 5, at->rdma_device);
	bind_lines(st, 6, at->addresses);
	sqlite3_bind_int(st, 7, at->gid_index);
	return done(state, STATE_INSERT_ATTACHMENT, error);
}

static gboolean write_attachments(RdmadState *state, const RdmadAllocation *allocation,
				  GError **error)
{
	for (guint i = 0; i < allocation->n_attachments; i++)
		if (!write_attachment(state, &allocation->attachments[i], allocation->number, i,
				      error))
			return FALSE;
	return TRUE;
}

static gboolean delete_attachments(RdmadState *state, gint64 number, GError **error)
{
	sqlite3_bind_int64(state->statements[STATE_DELETE_ATTACHMENTS], 1, number);
	return done(state, STATE_DELETE_ATTACHMENTS, error);
}

gboolean rdmad_state_add_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error)
{
	return write_row(state, STATE_INSERT_ALLOCATION, allocation, error) &&
	       write_attachments(state, allocation, error);
}

gboolean rdmad_state_put_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error)
{
	if (!write_row(state, STATE_UPDATE_ALLOCATION, allocation, error))
		return FALSE;
	if (sqlite3_changes(state->db) == 0)
		return rdmad_state_add_allocation(state, allocation, error);
	return delete_attachments(state, allocation->number, error) &&
	       write_attachments(state, allocation, error);
}

gboolean rdmad_state_delete_allocation(RdmadState *state, gint64 number, GError **error)
{
	sqlite3_bind_int64(state->statements[STATE_DELETE_ALLOCATION], 1, number);
	return done(state, STATE_DELETE_ALLOCATION, error);
}

gboolean rdmad_state_delete_all(RdmadState *state, GError **error)
{
	return done(state, STATE_DELETE_ALL, error);
}

/* ---- reading ---- */

/* The rows of one statement, with the current one fetched ahead: attachments are sorted by
 * allocation. */
typedef struct {
	RdmadState *state;
	sqlite3_stmt *st;
	gboolean more;
	int failed; /* code of the first error */
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

static gboolean rows_of(const Rows *rows, gint64 number)
{
	return rows->more && sqlite3_column_int64(rows->st, 0) == number;
}

/* A NUL truncates the text, which then is shorter, or fails the check. */
static char *text_at(Rows *rows, int column)
{
	const gboolean is_null = sqlite3_column_type(rows->st, column) == SQLITE_NULL;
	const char *text = (const char *)sqlite3_column_text(rows->st, column);

	if (!text && !is_null)
		rows->failed = SQLITE_NOMEM;
	return g_strdup(text);
}

static char **lines_at(Rows *rows, int column)
{
	g_autofree char *text = text_at(rows, column);

	return g_strsplit(text ?: "", "\n", -1);
}

static gboolean number_parse(const char *text, guint *number)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &value, NULL))
		return FALSE;
	*number = (guint)value;
	return TRUE;
}

static gboolean kind_parse(const char *text, int *kind)
{
	for (*kind = 0; *kind < RDMAD_CHARDEV_RDMA_CM; ++*kind)
		if (g_str_equal(text, rdmad_chardev_kind_name((RdmadChardevKind)*kind)))
			return TRUE;
	return FALSE;
}

/* An invalid line becomes an empty file, which fails the check. */
static void read_file(const char *line, RdmadAllocation *allocation)
{
	g_auto(GStrv) words = g_strsplit(line, " ", FILE_WORDS);
	RdmadAllocationFile file = { .device = (char *)"", .path = (char *)"" };

	if (g_strv_length(words) == FILE_WORDS && kind_parse(words[1], &file.kind) &&
	    number_parse(words[2], &file.port) && number_parse(words[3], &file.major) &&
	    number_parse(words[4], &file.minor)) {
		file.device = words[0];
		file.path = words[5];
	}
	rdmad_allocation_add_file(allocation, &file);
}

/* Reads one file more than allowed, which fails the check. */
static void read_files(Rows *rows, int column, RdmadAllocation *allocation)
{
	const gboolean is_long = sqlite3_column_bytes(rows->st, column) > FILES_BYTES_MAX;
	g_autofree char *text = is_long ? g_strdup("too long") : text_at(rows, column);
	g_auto(GStrv) lines = g_strsplit(text ?: "", "\n", RDMAD_ALLOCATION_MAX_FILES + 1);

	for (char **line = lines; *line; line++)
		read_file(*line, allocation);
}

static void read_attachments(Rows *rows, RdmadAllocation *allocation)
{
	for (; rows_of(rows, allocation->number); rows_next(rows)) {
		g_autofree char *netns = text_at(rows, 1), *interface = text_at(rows, 2);
		g_autofree char *rdma_device = text_at(rows, 3);
		g_auto(GStrv) addresses = lines_at(rows, 4);
		const RdmadAttachment at = { netns, interface, rdma_device, addresses,
					     sqlite3_column_int(rows->st, 5) };

		rdmad_allocation_add_attachment(allocation, &at);
	}
}

static RdmadAllocation *read_allocation(Rows *allocations, Rows *attachments)
{
	RdmadAllocation *allocation = rdmad_allocation_new(text_at(allocations, 1));

	allocation->number = sqlite3_column_int64(allocations->st, 0);
	allocation->resource = text_at(allocations, 2);
	allocation->owner = text_at(allocations, 3);
	allocation->pod_namespace = text_at(allocations, 4);
	allocation->pod_name = text_at(allocations, 5);
	allocation->container = text_at(allocations, 6);
	allocation->since_us = sqlite3_column_int64(allocations->st, 7);
	allocation->mode = text_at(allocations, 8);
	allocation->boot = text_at(allocations, 9);
	allocation->kubelet = text_at(allocations, 10);
	allocation->slots = lines_at(allocations, 11);
	allocation->devices = lines_at(allocations, 12);
	allocation->pod_cgroup = text_at(allocations, 13);
	read_files(allocations, 14, allocation);
	allocation->cdi = sqlite3_column_int(allocations->st, 15) != 0;
	read_attachments(attachments, allocation);
	return allocation;
}

/* A failed read says nothing about the contents. */
static int reading_failed(const Rows *allocations, const Rows *attachments)
{
	return allocations->failed ?: attachments->failed;
}

static gboolean load(Rows *allocations, Rows *attachments,
		     void (*fn)(const RdmadAllocation *allocation, gpointer data), gpointer data,
		     GError **error)
{
	int failed = reading_failed(allocations, attachments);

	for (; !failed && allocations->more; rows_next(allocations)) {
		g_autoptr(RdmadAllocationRef) allocation =
			read_allocation(allocations, attachments);

		failed = reading_failed(allocations, attachments);
		if (failed)
			break;
		if (!rdmad_allocation_check(allocation, error)) {
			g_prefix_error(error, "database %s: ", allocations->state->path);
			return FALSE;
		}
		fn(rdmad_allocation_ref(allocation), data);
	}
	failed = reading_failed(allocations, attachments);
	return !failed || rdmad_state_setup_error(allocations->state, failed, error);
}

gboolean rdmad_state_load_allocations(RdmadState *state,
				      void (*fn)(const RdmadAllocation *allocation, gpointer data),
				      gpointer data, GError **error)
{
	Rows allocations = rows_begin(state, STATE_LOAD_ALLOCATIONS);
	Rows attachments = rows_begin(state, STATE_LOAD_ATTACHMENTS);
	const gboolean ok = load(&allocations, &attachments, fn, data, error);

	sqlite3_reset(allocations.st);
	sqlite3_reset(attachments.st);
	return ok;
}
