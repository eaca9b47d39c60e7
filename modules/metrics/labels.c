/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"

#include "number.h"

static gboolean is_plain(const char *value, gsize size)
{
	for (gsize i = 0; i < size; i++)
		if (value[i] == '"' || value[i] == '\\' || value[i] == '\n' || value[i] & 0x80)
			return FALSE;
	return TRUE;
}

static void value_escape(Text *text, const char *valid)
{
	for (const char *at = valid; *at; at++) {
		const char escaped[2] = { '\\', *at == '\n' ? 'n' : *at };

		if (*at == '"' || *at == '\\' || *at == '\n')
			text_append(text, escaped, sizeof(escaped));
		else
			text_append(text, at, 1);
	}
}

/* No character is cut in two. */
static gsize value_size(const char *value)
{
	gsize size = strnlen(value, LABELS_VALUE_MAX + 1);

	if (size <= LABELS_VALUE_MAX)
		return size;
	size = LABELS_VALUE_MAX;
	while (size && (value[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static void label_begin(Labels *labels, const char *name)
{
	text_append(&labels->text, labels->text.length ? "," : "{", 1);
	text_append(&labels->text, name, strlen(name));
	text_append(&labels->text, "=\"", 2);
}

void labels_add(Labels *labels, const char *name, const char *value)
{
	const gsize size = value ? value_size(value) : 0;

	label_begin(labels, name);
	if (is_plain(value, size)) {
		text_append(&labels->text, value, size);
	} else {
		g_autofree char *valid = g_utf8_make_valid(value, (gssize)size);

		value_escape(&labels->text, valid);
	}
	text_append(&labels->text, "\"", 1);
}

void labels_add_number(Labels *labels, const char *name, guint64 value)
{
	label_begin(labels, name);
	text_end(&labels->text, number_print(text_room(&labels->text, NUMBER_MAX), value));
	text_append(&labels->text, "\"", 1);
}
