/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table with aligned columns, for terminals
 *
 * Cells are escaped (base/terminal.h); the last column is wrapped at the terminal's width.
 */
#pragma once

#include <glib.h>

typedef struct RdmadTable RdmadTable;

typedef struct {
	gboolean headers; /* start with a line of headers */
	gboolean wide;	  /* show the columns that do not fit into 80 */
	gboolean colour;  /* colour words of states */
	guint width;	  /* of the terminal, for wrapping the last column; 0: do not wrap */
} RdmadTableStyle;

extern const RdmadTableStyle rdmad_table_plain; /* headers only */
extern const RdmadTableStyle rdmad_table_bare;	/* no headers */

/* `headers` ends with NULL and must outlive the table.  A column whose header begins with "+" is
 * shown only in wide tables. */
RdmadTable *rdmad_table_new(const char *const *headers);
void rdmad_table_free(RdmadTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadTable, rdmad_table_free)

/* Adds a row with a cell for each header; NULL and "" are shown as "-". */
void rdmad_table_add(RdmadTable *table, ...);
void rdmad_table_add_row(RdmadTable *table, const char *const *cells);
/* Aligns columns across several tables, as for events. */
void rdmad_table_set_min_width(RdmadTable *table, guint column, guint width);
/* Appends all rows, each indented by `indent`. */
void rdmad_table_write(const RdmadTable *table, const RdmadTableStyle *style, const char *indent,
		       GString *out);

/* Returns the number of terminal columns of `text`. */
guint rdmad_text_width(const char *text);
/* Appends `text`, wrapped at blanks to `width` columns.  The caller has written up to the column
 * `indent`; further lines are indented by it.  `width` 0: no wrapping. */
void rdmad_text_wrap(const char *text, guint indent, guint width, GString *out);
