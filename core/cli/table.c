/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <stdarg.h>
#include <string.h>

#define GAP 2u

struct RdmadTable {
	const char *const *headers;
	guint n_columns;
	guint *widths;
	GPtrArray *rows; /* char **, escaped */
};

guint rdmad_text_width(const char *text)
{
	guint width = 0;

	for (; *text; text = g_utf8_next_char(text)) {
		const gunichar c = g_utf8_get_char(text);

		width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
	}
	return width;
}

char *rdmad_text_escape(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	GString *out = g_string_new(NULL);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		const gunichar c = g_utf8_get_char(p);

		if (c == '\n')
			g_string_append(out, "\\n");
		else if (c == '\t')
			g_string_append(out, "\\t");
		else if (g_unichar_iscntrl(c) || g_unichar_type(c) == G_UNICODE_FORMAT)
			g_string_append_printf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
		else
			g_string_append_unichar(out, c);
	}
	return g_string_free(out, FALSE);
}

RdmadTable *rdmad_table_new(const char *const *headers)
{
	RdmadTable *table = g_new0(RdmadTable, 1);

	table->headers = headers;
	table->n_columns = g_strv_length((char **)headers);
	table->widths = g_new0(guint, table->n_columns);
	table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	for (guint i = 0; i < table->n_columns; i++)
		table->widths[i] = rdmad_text_width(headers[i]);
	return table;
}

void rdmad_table_free(RdmadTable *table)
{
	g_ptr_array_unref(table->rows);
	g_free(table->widths);
	g_free(table);
}

void rdmad_table_set_min_width(RdmadTable *table, guint column, guint width)
{
	g_assert(column < table->n_columns);
	table->widths[column] = MAX(table->widths[column], width);
}

void rdmad_table_add_row(RdmadTable *table, const char *const *cells)
{
	char **row = g_new0(char *, table->n_columns + 1);

	for (guint i = 0; i < table->n_columns; i++) {
		row[i] = cells[i] && *cells[i] ? rdmad_text_escape(cells[i]) : g_strdup("-");
		rdmad_table_set_min_width(table, i, rdmad_text_width(row[i]));
	}
	g_ptr_array_add(table->rows, row);
}

void rdmad_table_add(RdmadTable *table, ...)
{
	g_autofree const char **cells = g_new0(const char *, table->n_columns);
	va_list args;

	va_start(args, table);
	for (guint i = 0; i < table->n_columns; i++)
		cells[i] = va_arg(args, const char *);
	va_end(args);
	rdmad_table_add_row(table, cells);
}

static void table_write_row(const RdmadTable *table, const char *const *cells, const char *indent,
			    GString *out)
{
	g_string_append(out, indent);
	for (guint i = 0; i < table->n_columns; i++) {
		const guint pad = table->widths[i] + GAP - rdmad_text_width(cells[i]);

		g_string_append(out, cells[i]);
		if (i + 1 < table->n_columns)
			g_string_append_printf(out, "%*s", (int)pad, "");
	}
	g_string_append_c(out, '\n');
}

void rdmad_table_write(const RdmadTable *table, gboolean headers, const char *indent, GString *out)
{
	if (headers)
		table_write_row(table, table->headers, indent, out);
	for (guint i = 0; i < table->rows->len; i++)
		table_write_row(table, g_ptr_array_index(table->rows, i), indent, out);
}
