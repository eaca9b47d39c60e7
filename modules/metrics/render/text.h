/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a growable buffer like GString, whose frequent operations are inline. */
#pragma once

#include <glib.h>
#include <string.h>

typedef struct {
	char *start; /* no NUL at the end */
	gsize length, size;
} Text;

void text_grow(Text *text, gsize more);

static inline void text_clear(Text *text)
{
	g_clear_pointer(&text->start, g_free);
	text->length = text->size = 0;
}

/* Returns room for `most` bytes; text_end() takes the end of the bytes written. */
static inline char *text_room(Text *text, gsize most)
{
	if (text->size - text->length < most)
		text_grow(text, most);
	return text->start + text->length;
}

static inline void text_end(Text *text, const char *end)
{
	text->length = (gsize)(end - text->start);
}

static inline char *text_put(char *at, const char *bytes, gsize size)
{
	if (size)
		memcpy(at, bytes, size);
	return at + size;
}

static inline void text_append(Text *text, const char *bytes, gsize size)
{
	text_end(text, text_put(text_room(text, size), bytes, size));
}

#define NUMBER_MAX 32u /* room that each of the functions needs */

char *number_print(char *at, guint64 value);
/* Prints `value` with its last `decimals` digits (at most 9) after the point: 1500 with 3 is
 * 1.5. */
char *number_print_scaled(char *at, guint64 value, guint decimals);
/* Prints the shortest form that reads back exactly; "NaN", "+Inf", "-Inf". */
char *number_print_double(char *at, double value);
