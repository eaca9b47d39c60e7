/* SPDX-License-Identifier: Apache-2.0 */
#include "base/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends text without its middle, if it is longer than `max`.  `text` is valid UTF-8. */
static void append_shortened(GString *out, const char *text, gsize length, gsize max)
{
	const char *end = text + length, *from, *to;

	if (length <= max) {
		g_string_append_len(out, text, (gssize)length);
		return;
	}
	from = g_utf8_find_prev_char(text, text + max / 2 + 1);
	to = g_utf8_find_next_char(end - max / 2 - 1, end) ?: end;
	g_string_append_len(out, text, (gssize)(from - text));
	g_string_append(out, "...");
	g_string_append_len(out, to, (gssize)(end - to));
}

static char *shorten(const char *text)
{
	g_autoptr(GString) words = g_string_new(NULL);
	GString *out = g_string_new(NULL);

	while (*text) {
		const gsize word = strcspn(text, " \t\n"), blank = strspn(text + word, " \t\n");

		append_shortened(words, text, word, RDMAD_TERMINAL_WORD_MAX);
		g_string_append_len(words, text + word, (gssize)blank);
		text += word + blank;
	}
	append_shortened(out, words->str, words->len, RDMAD_TERMINAL_TEXT_MAX);
	return g_string_free(out, FALSE);
}

char *rdmad_text_escape(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_autofree char *shown = shorten(valid);
	GString *out = g_string_new(NULL);

	for (const char *p = shown; *p; p = g_utf8_next_char(p)) {
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

void rdmad_terminal_error(const char *format, ...)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		g_autofree char *shown = rdmad_text_escape(*line);

		fprintf(stderr, "%s: %s\n", program_invocation_short_name, shown);
	}
}
