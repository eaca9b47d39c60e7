/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a module in the state database (SQLite; <state-dir>/rdmad.db)
 *
 * A write is on the disk when rdmad_tables_write() returns TRUE: respond after it.  All functions
 * are for the loop.  A write must not contain another write, for example of allocations.
 *
 * All names that a module creates in the database begin with "module_", the module's name and "_",
 * with "_" for "-": module_cni_journal.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *name; /* the module's name */
	/* SQL, NULL-terminated: entry N migrates from version N to N + 1.  Never change a released
	 * entry: add another. */
	const char *const *migrations;
	/* Called in a transaction after the database was lost and made again: deletes all rows,
	 * which may be old, and writes the rows anew.  NULL: the tables stay as they are found. */
	gboolean (*rewrite)(RdmadTables *tables, gpointer data, GError **error);
} RdmadTablesClass;

/* Makes or migrates the tables.  `klass` must outlive them.  RDMAD_ERROR_ABI: the tables are of a
 * newer version of the module; RDMAD_ERROR_FAILED. */
RDMAD_API RdmadTables *rdmad_tables_open(RdmadState *state, RdmadModule *owner,
					 const RdmadTablesClass *klass, gpointer data,
					 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Frees `tables`, not the rows.  Does nothing if `tables` is NULL. */
RDMAD_API void rdmad_tables_close(RdmadTables *tables);

/* ---- values ---- */

typedef enum {
	RDMAD_VALUE_NULL,
	RDMAD_VALUE_INT,
	RDMAD_VALUE_TEXT,
	RDMAD_VALUE_BYTES
} RdmadValueType;

/* A value of a parameter ?1, ?2, ..., borrowed during the call. */
typedef struct {
	RdmadValueType type;
	gint64 number;
	const void *bytes;
	gsize size; /* of BYTES */
} RdmadValue;

#define RDMAD_INT(n) ((RdmadValue){ RDMAD_VALUE_INT, (n), NULL, 0 })
/* `text` NULL: SQL's NULL. */
#define RDMAD_TEXT(text)     ((RdmadValue){ RDMAD_VALUE_TEXT, 0, (text), 0 })
#define RDMAD_BYTES(data, n) ((RdmadValue){ RDMAD_VALUE_BYTES, 0, (data), (n) })
#define RDMAD_VALUES(...)                                                                          \
	((const RdmadValue[]){ __VA_ARGS__ }), G_N_ELEMENTS(((const RdmadValue[]){ __VA_ARGS__ }))

/* ---- writing ---- */

/* Calls `fn` in a transaction, which is on the disk when TRUE is returned, and else rolled back.
 * `fn` is called a second time if the database was lost during the first. */
RDMAD_API gboolean rdmad_tables_write(RdmadTables *tables,
				      gboolean (*fn)(RdmadTables *tables, gpointer data,
						     GError **error),
				      gpointer data, GError **error);
/* Writes as rdmad_tables_write() does, without waiting for the disk, for state that ends with the
 * boot: it survives the end of rdmad at any moment, but not a power failure. */
RDMAD_API gboolean rdmad_tables_write_for_boot(RdmadTables *tables,
					       gboolean (*fn)(RdmadTables *tables, gpointer data,
							      GError **error),
					       gpointer data, GError **error);
/* Runs a statement without rows, only in rdmad_tables_write() and `rewrite`.  RDMAD_ERROR_BUSY: a
 * violated constraint, such as an existing key. */
RDMAD_API gboolean rdmad_tables_run(RdmadTables *tables, const char *sql, const RdmadValue *values,
				    gsize n_values, GError **error);
/* Returns the number of rows that the last statement inserted, changed or deleted. */
RDMAD_API guint rdmad_tables_changed(const RdmadTables *tables);

/* ---- reading ---- */

/* Called for each row.  Returns FALSE, with an error, to stop. */
typedef gboolean (*RdmadRowFunc)(const RdmadRow *row, gpointer data, GError **error);
RDMAD_API gboolean rdmad_tables_read(RdmadTables *tables, const char *sql, const RdmadValue *values,
				     gsize n_values, RdmadRowFunc fn, gpointer data,
				     GError **error);
/* Return the value of a column, from 0.  Texts and bytes are valid during the call of RdmadRowFunc,
 * and NULL for SQL's NULL. */
RDMAD_API gint64 rdmad_row_int(const RdmadRow *row, guint column);
RDMAD_API const char *rdmad_row_text(const RdmadRow *row, guint column);
RDMAD_API const void *rdmad_row_bytes(const RdmadRow *row, guint column, gsize *size);
