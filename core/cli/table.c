/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <stdarg.h>
#include <string.h>

#include "base/terminal.h"

#define GAP 2u

struct RdmadTable {
	const char *const *headers;
	guint n_columns;
	guint *widths;
	GPtrArray *rows; /* char **, escaped */
};

const RdmadTableStyle rdmad_table_plain = { .headers = TRUE };
const RdmadTableStyle rdmad_table_bare = { .headers = FALSE };

guint rdmad_text_width(const char *text)
{
	guint width = 0;

	for (; *text; text = g_utf8_next_char(text)) {
		const gunichar c = g_utf8_get_char(text);

		width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
	}
	return width;
}

static gboolean is_wide(const char *header)
{
	return header[0] == '+';
}

static const char *header_text(const char *header)
{
	return is_wide(header) ? header + 1 : header;
}

#define WRAP_MIN 20u /* narrower columns are not wrapped */

RdmadTable *rdmad_table_new(const char *const *headers)
{
	RdmadTable *table = g_new0(RdmadTable, 1);

	table->headers = headers;
	table->n_columns = g_strv_length((char **)headers);
	table->widths = g_new0(guint, table->n_columns);
	table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	for (guint i = 0; i < table->n_columns; i++)
		table->widths[i] = rdmad_text_width(header_text(headers[i]));
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

/* ---- colours of cells that show a state, in any column ---- */

#define RESET "\033[0m"

static const struct {
	const char *sequence;
	const char *words[8];
} colours[] = {
	{ "\033[1;31m", { "unhealthy", "down", "failed", "error", "problem", "left" } },
	{ "\033[33m", { "warning", "note", "init", "armed", "disabled" } },
	{ "\033[32m", { "healthy", "ok", "active", "running", "done" } },
};

static const char *cell_colour(const char *cell)
{
	for (gsize i = 0; i < G_N_ELEMENTS(colours); i++)
		if (g_strv_contains(colours[i].words, cell))
			return colours[i].sequence;
	return NULL;
}

/* ---- lines ---- */

void rdmad_text_wrap(const char *text, guint indent, guint width, GString *out)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	guint at = indent;

	if (width < indent + WRAP_MIN) {
		g_string_append(out, text);
		return;
	}
	for (char **word = words; *word; word++) {
		const guint size = rdmad_text_width(*word);

		if (at > indent && at + 1 + size > width) {
			g_string_append_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (word > words) {
			g_string_append_c(out, ' ');
			at++;
		}
		g_string_append(out, *word);
		at += size;
	}
}

static gboolean column_is_shown(const RdmadTable *table, guint column, const RdmadTableStyle *style)
{
	return style->wide || !is_wide(table->headers[column]);
}

/* `cells` NULL: writes the headers. */
static void table_write_row(const RdmadTable *table, const char *const *cells,
			    const RdmadTableStyle *style, const char *indent, GString *out)
{
	guint pad = 0, at = rdmad_text_width(indent);

	g_string_append(out, indent);
	for (guint i = 0; i < table->n_columns; i++) {
		const char *text = cells ? cells[i] : header_text(table->headers[i]);
		const char *colour = cells && style->colour ? cell_colour(text) : NULL;

		if (!column_is_shown(table, i, style))
			continue;
		g_string_append_printf(out, "%*s%s", (int)pad, "", colour ?: "");
		at += pad;
		rdmad_text_wrap(text, at, i + 1 == table->n_columns ? style->width : 0, out);
		g_string_append(out, colour ? RESET : "");
		at += rdmad_text_width(text);
		pad = table->widths[i] + GAP - rdmad_text_width(text);
	}
	g_string_append_c(out, '\n');
}

void rdmad_table_write(const RdmadTable *table, const RdmadTableStyle *style, const char *indent,
		       GString *out)
{
	if (style->headers)
		table_write_row(table, NULL, style, indent, out);
	for (guint i = 0; i < table->rows->len; i++)
		table_write_row(table, g_ptr_array_index(table->rows, i), style, indent, out);
}
