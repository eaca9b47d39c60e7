/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module's own tables in the state database (SQLite; <state-dir>/rdmad.db)
 *
 * A write is on the disk when rdmad_tables_write() returns TRUE: respond after it.  Only on the
 * loop, and no other write, of allocations for example, from within one.
 *
 * All names that a module makes in the database begin with "module_", its own name and "_", with
 * "_" for "-": module_cni_journal.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *name; /* the module's */
	/* SQL, NULL-terminated: entry N leads from version N to N + 1.  Never edit one that was
	 * released: add another. */
	const char *const *migrations;
	/* The database was lost under the daemon and made again: writes all rows that there should
	 * be. It is inside a transaction, and what the tables have may be old: delete all rows
	 * first. NULL: the tables are left as they are found. */
	gboolean (*rewrite)(RdmadTables *tables, gpointer data, GError **error);
} RdmadTablesClass;

/* Makes or migrates the tables.  RDMAD_ERROR_ABI: they are of a newer version of the module;
 * RDMAD_ERROR_FAILED. */
RDMAD_API RdmadTables *rdmad_tables_open(RdmadState *state, RdmadModule *owner,
					 const RdmadTablesClass *klass, gpointer data,
					 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* NULL is fine. */
RDMAD_API void rdmad_tables_close(RdmadTables *tables);

/* ---- values ---- */

typedef enum {
	RDMAD_VALUE_NULL,
	RDMAD_VALUE_INT,
	RDMAD_VALUE_TEXT,
	RDMAD_VALUE_BYTES
} RdmadValueType;

/* For ?1, ?2, ...; valid during the call. */
typedef struct {
	RdmadValueType type;
	gint64 number;
	const void *bytes;
	gsize size; /* of BYTES */
} RdmadValue;

#define RDMAD_INT(n) ((RdmadValue){ RDMAD_VALUE_INT, (n), NULL, 0 })
/* NULL is SQL's NULL. */
#define RDMAD_TEXT(text)     ((RdmadValue){ RDMAD_VALUE_TEXT, 0, (text), 0 })
#define RDMAD_BYTES(data, n) ((RdmadValue){ RDMAD_VALUE_BYTES, 0, (data), (n) })
#define RDMAD_VALUES(...)                                                                          \
	((const RdmadValue[]){ __VA_ARGS__ }), G_N_ELEMENTS(((const RdmadValue[]){ __VA_ARGS__ }))

/* ---- writing ---- */

/* All that `fn` runs is on the disk when this returns TRUE, or nothing is.  `fn` may be called a
 * second time, when the database was lost during the first. */
RDMAD_API gboolean rdmad_tables_write(RdmadTables *tables,
				      gboolean (*fn)(RdmadTables *tables, gpointer data,
						     GError **error),
				      gpointer data, GError **error);
/* The same for what no longer matters once the machine has stopped: it survives the end of rdmad at any
 * moment, but not a power cut, and does not wait for the disk. */
RDMAD_API gboolean rdmad_tables_write_for_boot(RdmadTables *tables,
					       gboolean (*fn)(RdmadTables *tables, gpointer data,
							      GError **error),
					       gpointer data, GError **error);
/* One statement without rows: within rdmad_tables_write() and `rewrite`.  RDMAD_ERROR_BUSY: a
 * constraint, such as a key that is there already. */
RDMAD_API gboolean rdmad_tables_run(RdmadTables *tables, const char *sql, const RdmadValue *values,
				    gsize n_values, GError **error);
/* Rows that the last statement inserted, changed or deleted. */
RDMAD_API guint rdmad_tables_changed(const RdmadTables *tables);

/* ---- reading ---- */

/* Called for each row; FALSE with an error set ends the reading. */
typedef gboolean (*RdmadRowFunc)(const RdmadRow *row, gpointer data, GError **error);
RDMAD_API gboolean rdmad_tables_read(RdmadTables *tables, const char *sql, const RdmadValue *values,
				     gsize n_values, RdmadRowFunc fn, gpointer data,
				     GError **error);
/* Columns from 0.  Texts and bytes are valid during the call; NULL for SQL's NULL. */
RDMAD_API gint64 rdmad_row_int(const RdmadRow *row, guint column);
RDMAD_API const char *rdmad_row_text(const RdmadRow *row, guint column);
RDMAD_API const void *rdmad_row_bytes(const RdmadRow *row, guint column, gsize *size);
