/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of modules: versions, transactions, rows */
#include <rdmad/state.h>

#include <rdmad/error.h>
#include <string.h>

#include "service/state-private.h"

/* Created with the first module's tables.  Its prefix is that of modules' tables, not of the
 * core's. */
#define VERSIONS                                                                                   \
	"CREATE TABLE IF NOT EXISTS module_versions ("                                             \
	"  module TEXT PRIMARY KEY,"                                                               \
	"  version INTEGER NOT NULL"                                                               \
	") STRICT, WITHOUT ROWID"

#define STATEMENTS_MAX 16u /* in the cache of each module */

struct RdmadTables {
	RdmadState *state;
	RdmadModule *owner;
	const RdmadTablesClass *klass;
	gpointer data;
	GList node;		/* in the state's list */
	GHashTable *statements; /* text -> sqlite3_stmt */
	gboolean writing;
};

struct RdmadRow {
	sqlite3_stmt *st;
};

/* ---- statements ---- */

static gboolean tables_error(RdmadTables *tables, GError **error)
{
	RdmadState *state = tables->state;
	const gboolean constraint = (sqlite3_errcode(state->db) & 0xff) == SQLITE_CONSTRAINT;
	g_autofree char *what = g_strdup_printf("tables of module %s", tables->klass->name);

	rdmad_state_error(state, what, error);
	if (constraint && error)
		(*error)->code = RDMAD_ERROR_BUSY;
	return FALSE;
}

static void bind_value(sqlite3_stmt *st, int at, const RdmadValue *value)
{
	switch (value->type) {
	case RDMAD_VALUE_NULL:
		sqlite3_bind_null(st, at);
		break;
	case RDMAD_VALUE_INT:
		sqlite3_bind_int64(st, at, value->number);
		break;
	case RDMAD_VALUE_TEXT:
		sqlite3_bind_text(st, at, value->bytes, -1, SQLITE_STATIC);
		break;
	case RDMAD_VALUE_BYTES:
		sqlite3_bind_blob64(st, at, value->bytes ?: "", value->size, SQLITE_STATIC);
		break;
	}
}

static void statement_free(gpointer st)
{
	sqlite3_finalize(st);
}

/* Statements are cached, because parsing takes longer than executing a short one, and modules
 * have few. */
static sqlite3_stmt *statement_cached(RdmadTables *tables, const char *sql)
{
	sqlite3_stmt *st = g_hash_table_lookup(tables->statements, sql);

	return st && !sqlite3_stmt_busy(st) ? st : NULL;
}

static sqlite3_stmt *statement_prepare(RdmadTables *tables, const char *sql, GError **error)
{
	sqlite3_stmt *st = NULL;

	if (!tables->state->db) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "database %s is not open",
			    tables->state->path);
		return NULL;
	}
	if (sqlite3_prepare_v2(tables->state->db, sql, -1, &st, NULL) != SQLITE_OK)
		tables_error(tables, error);
	return st;
}

static sqlite3_stmt *statement_new(RdmadTables *tables, const char *sql, const RdmadValue *values,
				   gsize n_values, GError **error)
{
	sqlite3_stmt *st = statement_cached(tables, sql) ?: statement_prepare(tables, sql, error);

	if (!st)
		return NULL;
	g_assert((gsize)sqlite3_bind_parameter_count(st) == n_values);
	for (gsize i = 0; i < n_values; i++)
		bind_value(st, (int)i + 1, &values[i]);
	return st;
}

/* Caches the statement, unless the cache has one with the same text or is full. */
static void statement_end(RdmadTables *tables, const char *sql, sqlite3_stmt *st)
{
	if (g_hash_table_lookup(tables->statements, sql) != st) {
		if (g_hash_table_contains(tables->statements, sql) ||
		    g_hash_table_size(tables->statements) >= STATEMENTS_MAX) {
			sqlite3_finalize(st);
			return;
		}
		g_hash_table_insert(tables->statements, g_strdup(sql), st);
	}
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
}

gboolean rdmad_tables_read(RdmadTables *tables, const char *sql, const RdmadValue *values,
			   gsize n_values, RdmadRowFunc fn, gpointer data, GError **error)
{
	sqlite3_stmt *st = statement_new(tables, sql, values, n_values, error);
	const RdmadRow row = { st };
	gboolean ok = st != NULL;
	int code = SQLITE_DONE;

	while (ok && (code = sqlite3_step(st)) == SQLITE_ROW)
		ok = !fn || fn(&row, data, error);
	if (ok && code != SQLITE_DONE)
		ok = tables_error(tables, error);
	if (st)
		statement_end(tables, sql, st);
	return ok;
}

gboolean rdmad_tables_run(RdmadTables *tables, const char *sql, const RdmadValue *values,
			  gsize n_values, GError **error)
{
	g_assert(tables->writing);
	return rdmad_tables_read(tables, sql, values, n_values, NULL, NULL, error);
}

guint rdmad_tables_changed(const RdmadTables *tables)
{
	return tables->state->db ? (guint)sqlite3_changes(tables->state->db) : 0;
}

gint64 rdmad_row_int(const RdmadRow *row, guint column)
{
	return sqlite3_column_int64(row->st, (int)column);
}

const char *rdmad_row_text(const RdmadRow *row, guint column)
{
	return (const char *)sqlite3_column_text(row->st, (int)column);
}

const void *rdmad_row_bytes(const RdmadRow *row, guint column, gsize *size)
{
	const void *bytes = sqlite3_column_blob(row->st, (int)column);

	*size = (gsize)sqlite3_column_bytes(row->st, (int)column);
	/* SQLite returns NULL for an empty blob. */
	if (!bytes && sqlite3_column_type(row->st, (int)column) == SQLITE_BLOB)
		return "";
	return bytes;
}

/* ---- versions ---- */

static gboolean take_number(const RdmadRow *row, gpointer data, GError **error)
{
	*(gint64 *)data = rdmad_row_int(row, 0);
	return TRUE;
}

static gboolean migrate_run(RdmadTables *tables, const char *sql, GError **error)
{
	return sqlite3_exec(tables->state->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       tables_error(tables, error);
}

/* Called within a transaction. */
static gboolean tables_migrate(RdmadTables *tables, GError **error)
{
	const RdmadTablesClass *klass = tables->klass;
	const gint64 newest = g_strv_length((char **)klass->migrations);
	gint64 version = 0;

	if (!migrate_run(tables, VERSIONS, error) ||
	    !rdmad_tables_read(tables, "SELECT version FROM module_versions WHERE module = ?1",
			       RDMAD_VALUES(RDMAD_TEXT(klass->name)), take_number, &version, error))
		return FALSE;
	if (version > newest) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_ABI,
			    "database %s: the tables of module %s have version %" G_GINT64_FORMAT
			    ", this rdmad supports up to %" G_GINT64_FORMAT,
			    tables->state->path, klass->name, version, newest);
		return FALSE;
	}
	if (version == newest)
		return TRUE;
	for (gint64 i = version; i < newest; i++)
		if (!migrate_run(tables, klass->migrations[i], error))
			return FALSE;
	return rdmad_tables_run(tables, "INSERT OR REPLACE INTO module_versions VALUES (?1, ?2)",
				RDMAD_VALUES(RDMAD_TEXT(klass->name), RDMAD_INT(newest)), error);
}

/* ---- transactions ---- */

typedef gboolean (*WriteFunc)(RdmadTables *tables, gpointer data, GError **error);

static gboolean write_once(RdmadTables *tables, WriteFunc fn, gpointer data, GError **error)
{
	gboolean ok;

	if (!rdmad_state_begin(tables->state, error))
		return FALSE;
	tables->writing = TRUE;
	ok = fn(tables, data, error);
	tables->writing = FALSE;
	if (ok)
		return rdmad_state_commit(tables->state, error);
	rdmad_state_rollback(tables->state);
	return FALSE;
}

static gboolean tables_restore_database(RdmadState *state, gboolean *lost, GError **error)
{
	*lost = FALSE;
	return !state->restore || state->restore(state->restore_data, lost, error);
}

gboolean rdmad_tables_write(RdmadTables *tables, WriteFunc fn, gpointer data, GError **error)
{
	RdmadState *state = tables->state;
	gboolean lost;

	if (!tables_restore_database(state, &lost, error))
		return FALSE;
	for (guint i = 0; i < 2; i++) {
		if (!write_once(tables, fn, data, error) ||
		    !tables_restore_database(state, &lost, error))
			return FALSE;
		if (!lost)
			return TRUE;
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "database %s was lost again while it was written", state->path);
	return FALSE;
}

gboolean rdmad_tables_write_for_boot(RdmadTables *tables, WriteFunc fn, gpointer data,
				     GError **error)
{
	gboolean ok;

	rdmad_state_wait_for_disk(tables->state, FALSE);
	ok = rdmad_tables_write(tables, fn, data, error);
	rdmad_state_wait_for_disk(tables->state, TRUE);
	return ok;
}

void rdmad_state_set_restore(RdmadState *state, RdmadStateRestore restore, gpointer data)
{
	state->restore = restore;
	state->restore_data = data;
}

static gboolean tables_rewrite(RdmadTables *tables, GError **error)
{
	gboolean ok;

	tables->writing = TRUE;
	ok = tables_migrate(tables, error) &&
	     (!tables->klass->rewrite || tables->klass->rewrite(tables, tables->data, error));
	tables->writing = FALSE;
	return ok;
}

gboolean rdmad_state_tables_rewrite(RdmadState *state, GError **error)
{
	for (const GList *l = state->tables.head; l; l = l->next)
		if (!tables_rewrite(l->data, error))
			return FALSE;
	return TRUE;
}

/* ---- life cycle ---- */

static gboolean migrate_all(RdmadTables *tables, gpointer data, GError **error)
{
	return tables_migrate(tables, error);
}

RdmadTables *rdmad_tables_open(RdmadState *state, RdmadModule *owner, const RdmadTablesClass *klass,
			       gpointer data, GError **error)
{
	RdmadTables *tables = g_new0(RdmadTables, 1);

	tables->state = state;
	tables->owner = owner;
	tables->klass = klass;
	tables->data = data;
	tables->node.data = tables;
	tables->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, statement_free);
	g_queue_push_tail_link(&state->tables, &tables->node);
	if (!rdmad_tables_write(tables, migrate_all, NULL, error))
		g_clear_pointer(&tables, rdmad_tables_close);
	return tables;
}

void rdmad_tables_close(RdmadTables *tables)
{
	if (!tables)
		return;
	g_assert(!tables->writing);
	g_queue_unlink(&tables->state->tables, &tables->node);
	g_hash_table_unref(tables->statements);
	g_free(tables);
}

void rdmad_state_tables_forget(RdmadState *state)
{
	for (const GList *l = state->tables.head; l; l = l->next)
		g_hash_table_remove_all(((RdmadTables *)l->data)->statements);
}

guint rdmad_state_tables_reap(RdmadState *state, const RdmadModule *owner)
{
	guint n = 0;

	for (GList *l = state ? state->tables.head : NULL, *next; l; l = next) {
		RdmadTables *tables = l->data;

		next = l->next;
		if (tables->owner != owner)
			continue;
		rdmad_tables_close(tables);
		n++;
	}
	return n;
}
