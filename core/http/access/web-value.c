/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/web-value.h"

#include <rdmad/error.h>
#include <stdarg.h>
#include <string.h>

gboolean web_refuse(const WebReader *reader, const RdmadYaml *value, GError **error,
		    const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s:%u: %s", reader->path, value->line,
		    text);
	return FALSE;
}

void web_note(WebReader *reader, const RdmadYaml *value, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_ptr_array_add(reader->config->notes,
			g_strdup_printf("%s:%u: %s", reader->path, value->line, text));
}

/* Names come from the file, and go into one line. */
static char *printable(const char *name)
{
	g_autofree char *start = g_utf8_substring(name, 0, MIN(g_utf8_strlen(name, -1), 64));

	return g_strescape(start, NULL);
}

static gboolean refuse_key(const WebReader *reader, const RdmadYaml *value, const WebKey *keys,
			   gsize n_keys, GError **error)
{
	g_autoptr(GString) known = g_string_new(NULL);
	g_autofree char *name = printable(value->key);

	for (gsize i = 0; i < n_keys; i++)
		g_string_append_printf(known, "%s%s", i ? ", " : "", keys[i].key);
	return web_refuse(reader, value, error, "\"%s\" is no key here; there are %s", name,
			  known->str);
}

static const WebKey *find_key(const WebKey *keys, gsize n_keys, const char *name)
{
	for (gsize i = 0; i < n_keys; i++)
		if (g_str_equal(keys[i].key, name))
			return &keys[i];
	return NULL;
}

gboolean web_read_group(WebReader *reader, const RdmadYaml *map, const WebKey *keys, gsize n_keys,
			gpointer base, GError **error)
{
	if (map->type != RDMAD_YAML_MAP)
		return web_refuse(reader, map, error, "here must be keys and values");
	for (guint i = 0; i < map->children->len; i++) {
		const RdmadYaml *value = g_ptr_array_index(map->children, i);
		const WebKey *key = find_key(keys, n_keys, value->key);

		if (!key)
			return refuse_key(reader, value, keys, n_keys, error);
		if (!rdmad_yaml_is_null(value) &&
		    !key->read(reader, value, (char *)base + key->offset, error))
			return FALSE;
	}
	return TRUE;
}

gboolean web_read_text(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error)
{
	char **text = where;

	if (value->type != RDMAD_YAML_TEXT)
		return web_refuse(reader, value, error, "here must be a text");
	*text = *value->text ? g_strdup(value->text) : NULL;
	return TRUE;
}

gboolean web_read_path(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error)
{
	g_autofree char *text = NULL;
	g_autofree char *directory = g_path_get_dirname(reader->path);
	char **path = where;

	if (!web_read_text(reader, value, &text, error))
		return FALSE;
	if (text)
		*path = g_path_is_absolute(text) ? g_strdup(text)
						 : g_build_filename(directory, text, NULL);
	return TRUE;
}

gboolean web_read_texts(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	char ***strv = where;

	if (value->type != RDMAD_YAML_LIST)
		return web_refuse(reader, value, error, "here must be a list");
	for (guint i = 0; i < value->children->len; i++) {
		const RdmadYaml *entry = g_ptr_array_index(value->children, i);

		if (entry->type != RDMAD_YAML_TEXT)
			return web_refuse(reader, entry, error, "here must be a text");
		g_ptr_array_add(texts, g_strdup(entry->text));
	}
	if (!texts->len)
		return TRUE;
	g_ptr_array_add(texts, NULL);
	*strv = (char **)g_ptr_array_steal(texts, NULL);
	return TRUE;
}

gboolean web_read_boolean(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };
	g_autofree char *text = NULL;

	if (value->type == RDMAD_YAML_TEXT && value->plain)
		text = g_ascii_strdown(value->text, -1);
	if (!text || (!g_strv_contains(yes, text) && !g_strv_contains(no, text)))
		return web_refuse(reader, value, error, "here must be true or false");
	*(gboolean *)where = g_strv_contains(yes, text);
	return TRUE;
}

/* Go's units, "1m30s"; -1 for anything else. */
static double parse_duration(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "µs", 1e-6 }, { "ms", 1e-3 },
		      { "s", 1 },     { "m", 60 },    { "h", 3600 } };
	double sum = 0;

	if (g_str_equal(text, "0"))
		return 0;
	do {
		gsize i = 0;
		double number;

		if (!g_ascii_isdigit(*text) || g_ascii_tolower(text[1]) == 'x')
			return -1;
		number = g_ascii_strtod(text, (char **)&text);
		while (i < G_N_ELEMENTS(units) && !g_str_has_prefix(text, units[i].unit))
			i++;
		if (i == G_N_ELEMENTS(units))
			return -1;
		sum += number * units[i].seconds;
		text += strlen(units[i].unit);
	} while (*text);
	return sum;
}

gboolean web_read_duration(WebReader *reader, const RdmadYaml *value, gpointer where,
			   GError **error)
{
	const double seconds = value->type == RDMAD_YAML_TEXT ? parse_duration(value->text) : -1;

	/* The other end also keeps inf out. */
	if (!(seconds >= 0 && seconds <= 3600))
		return web_refuse(reader, value, error,
				  "here must be a time up to 1h, as 250ms, 5s or 1m");
	*(double *)where = seconds;
	return TRUE;
}

gboolean web_read_count(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error)
{
	gint64 number;

	if (value->type != RDMAD_YAML_TEXT || !value->plain ||
	    !g_ascii_string_to_signed(value->text, 10, 0, 1000000, &number, NULL))
		return web_refuse(reader, value, error, "here must be a number from 0 to 1000000");
	*(gint *)where = number;
	return TRUE;
}
