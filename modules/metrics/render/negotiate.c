/* SPDX-License-Identifier: Apache-2.0 */
#include "render/negotiate.h"

/* Maximum number of elements; no scraper sends more. */
#define ELEMENTS_MAX 32u
#define Q_MAX	     1000u

typedef struct {
	const char *start;
	gsize size;
} Word;

static gboolean is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static Word word_trim(Word word)
{
	while (word.size && is_blank(*word.start)) {
		word.start++;
		word.size--;
	}
	while (word.size && is_blank(word.start[word.size - 1]))
		word.size--;
	return word;
}

/* Returns the next word up to `separator` and moves `rest` behind it; FALSE at the end. */
static gboolean word_next(Word *rest, char separator, Word *word)
{
	const char *end;

	if (!rest->start)
		return FALSE;
	end = memchr(rest->start, separator, rest->size);
	*word = (Word){ rest->start, end ? (gsize)(end - rest->start) : rest->size };
	if (end)
		*rest = (Word){ end + 1, rest->size - word->size - 1 };
	else
		rest->start = NULL;
	*word = word_trim(*word);
	return TRUE;
}

static gboolean word_is(Word word, const char *text)
{
	return word.size == strlen(text) && !g_ascii_strncasecmp(word.start, text, word.size);
}

/* Parses "0.5" to thousandths; returns 0 if it is malformed. */
static guint q_parse(Word word)
{
	guint q = 0, unit = Q_MAX;

	if (!word.size || word.size > strlen("0.123") || (*word.start != '0' && *word.start != '1'))
		return 0;
	if (word.size > 1 && word.start[1] != '.')
		return 0;
	for (gsize i = 0; i < word.size; i++) {
		if (i == 1)
			continue;
		if (!g_ascii_isdigit(word.start[i]))
			return 0;
		q += (guint)(word.start[i] - '0') * unit;
		unit /= 10;
	}
	return MIN(q, Q_MAX);
}

/* An element of a list, "text/plain;version=0.0.4;q=0.5". */
typedef struct {
	Word name;
	Word version; /* size 0: none */
	guint q;
} Choice;

static Choice choice_parse(Word element)
{
	Choice choice = { .q = Q_MAX };
	Word rest = element, part, value;

	word_next(&rest, ';', &choice.name);
	while (word_next(&rest, ';', &part)) {
		Word key;

		if (!word_next(&part, '=', &key))
			continue;
		value = part.start ? word_trim(part) : (Word){ "", 0 };
		if (word_is(key, "q"))
			choice.q = q_parse(value);
		else if (word_is(key, "version"))
			choice.version = value;
	}
	return choice;
}

/* Returns how specifically an element names the format: 0 not at all, 3 by its version. */
static guint choice_fit(const Choice *choice, ExpositionFormat format)
{
	const gboolean open = format == EXPOSITION_OPENMETRICS;
	const char *name = open ? "application/openmetrics-text" : "text/plain";

	if (word_is(choice->name, name)) {
		if (!choice->version.size)
			return 2;
		return word_is(choice->version, open ? "1.0.0" : "0.0.4") ? 3 : 0;
	}
	/* A wildcard is not a request for OpenMetrics. */
	if (open)
		return 0;
	return word_is(choice->name, "*/*") || word_is(choice->name, "text/*") ? 1 : 0;
}

/* Returns the weight that the most specific element gives the format; 0: not accepted. */
static guint format_weight(const char *accept, ExpositionFormat format)
{
	Word rest = { accept, strlen(accept) }, element;
	guint best = 0, q = 0;

	for (guint i = 0; i < ELEMENTS_MAX && word_next(&rest, ',', &element); i++) {
		const Choice choice = choice_parse(element);
		const guint fit = choice_fit(&choice, format);

		if (fit > best) {
			best = fit;
			q = choice.q;
		}
	}
	return q;
}

ExpositionFormat negotiate_format(const char *accept)
{
	guint open, text;

	if (!accept)
		return EXPOSITION_TEXT;
	open = format_weight(accept, EXPOSITION_OPENMETRICS);
	text = format_weight(accept, EXPOSITION_TEXT);
	return open && open >= text ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
}

gboolean negotiate_gzip(const char *accept_encoding)
{
	Word rest = { accept_encoding, accept_encoding ? strlen(accept_encoding) : 0 }, element;
	guint any = 0;

	for (guint i = 0; i < ELEMENTS_MAX && word_next(&rest, ',', &element); i++) {
		const Choice choice = choice_parse(element);

		if (word_is(choice.name, "gzip") || word_is(choice.name, "x-gzip"))
			return choice.q > 0;
		if (word_is(choice.name, "*"))
			any = choice.q;
	}
	return any > 0;
}
