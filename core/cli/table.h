/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns for people
 *
 * Cells are never cut.  Control characters (a name may come from outside) are shown as escapes.
 */
#pragma once

#include <glib.h>

typedef struct RdmadTable RdmadTable;

/* `headers` ends with NULL and must outlive the table. */
RdmadTable *rdmad_table_new(const char *const *headers);
void rdmad_table_free(RdmadTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadTable, rdmad_table_free)

/* One row: as many cells as there are headers; NULL or "" is shown as "-". */
void rdmad_table_add(RdmadTable *table, ...);
void rdmad_table_add_row(RdmadTable *table, const char *const *cells);
/* For rows that come in several tables, as events do. */
void rdmad_table_set_min_width(RdmadTable *table, guint column, guint width);
/* Appends all rows, each indented by `indent`. */
void rdmad_table_write(const RdmadTable *table, gboolean headers, const char *indent, GString *out);

/* `text` with control characters as \n, \t, \xNN and broken UTF-8 replaced. */
char *rdmad_text_escape(const char *text);
/* Columns that a terminal needs for it. */
guint rdmad_text_width(const char *text);
