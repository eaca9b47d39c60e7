/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON values as YAML blocks; JSON's quoted strings are valid YAML */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#define STEP 2

static void write_scalar(const json_t *value, GString *out)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	g_string_append_printf(out, "%s\n", text ?: "null");
	free(text);
}

/* Omits the quotes if the key cannot be misread. */
static void write_key(const char *key, GString *out)
{
	json_t *name = json_string(key);
	char *quoted = json_dumps(name, JSON_ENCODE_ANY);
	const gsize plain = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");

	/* YAML 1.1 reads "y", "no" and "on" as booleans. */
	g_string_append_printf(
		out, "%s:", plain > 3 && !key[plain] && g_ascii_isalpha(*key) ? key : quoted);
	free(quoted);
	json_decref(name);
}

static gboolean is_block(const json_t *value)
{
	return json_object_size(value) > 0 || json_array_size(value) > 0;
}

static void write_block(const json_t *value, int indent, GString *out);

/* Writes a value after "key:" or "-", and ends the line. */
static void write_value(const json_t *value, int indent, GString *out)
{
	if (is_block(value)) {
		g_string_append_c(out, '\n');
		write_block(value, indent, out);
	} else {
		g_string_append_c(out, ' ');
		write_scalar(value, out);
	}
}

static void write_block(const json_t *value, int indent, GString *out)
{
	const json_t *item;
	const char *key;
	size_t i;

	json_object_foreach((json_t *)value, key, item)
	{
		g_string_append_printf(out, "%*s", indent, "");
		write_key(key, out);
		write_value(item, indent + STEP, out);
	}
	json_array_foreach(value, i, item)
	{
		g_string_append_printf(out, "%*s-", indent, "");
		write_value(item, indent + STEP, out);
	}
}

void command_write_yaml(const json_t *value, GString *out)
{
	if (is_block(value))
		write_block(value, 0, out);
	else
		write_scalar(value, out);
}
