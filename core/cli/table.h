/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns for people
 *
 * Cells are never cut; the last one continues below where the terminal ends.  Control characters (a name may come from outside) are shown as escapes.
 */
#pragma once

#include <glib.h>

typedef struct RdmadTable RdmadTable;

typedef struct {
	gboolean headers; /* their line first */
	gboolean wide;	  /* also the columns that 80 have no room for */
	gboolean colour;  /* words of good and bad states */
	guint width;	  /* of the terminal, where the last column is wrapped; 0: it is not */
} RdmadTableStyle;

extern const RdmadTableStyle rdmad_table_plain; /* headers, nothing else */
extern const RdmadTableStyle rdmad_table_bare;	/* no headers */

/* `headers` ends with NULL and must outlive the table.  A column whose header begins with "+" is for wide
 * tables alone. */
RdmadTable *rdmad_table_new(const char *const *headers);
void rdmad_table_free(RdmadTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadTable, rdmad_table_free)

/* One row: as many cells as there are headers; NULL or "" is shown as "-". */
void rdmad_table_add(RdmadTable *table, ...);
void rdmad_table_add_row(RdmadTable *table, const char *const *cells);
/* For rows that come in several tables, as events do. */
void rdmad_table_set_min_width(RdmadTable *table, guint column, guint width);
/* Appends all rows, each indented by `indent`. */
void rdmad_table_write(const RdmadTable *table, const RdmadTableStyle *style, const char *indent,
		       GString *out);

/* `text` with control characters as \n, \t, \xNN and broken UTF-8 replaced. */
char *rdmad_text_escape(const char *text);
/* Columns that a terminal needs for it. */
guint rdmad_text_width(const char *text);
/* Appends `text`, of which lines end before `width` columns, if there is a blank to break at; the first
 * one begins at the column `indent`, and so do the others.  `width` 0: one line. */
void rdmad_text_wrap(const char *text, guint indent, guint width, GString *out);
