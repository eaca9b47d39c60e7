/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

void api_set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

json_t *api_json_strings(char *const *strings)
{
	json_t *array = json_array();

	for (; strings && *strings; strings++)
		json_array_append_new(array, rdmad_json_string(*strings));
	return array;
}

json_t *api_json_number(gint64 value)
{
	return value == RDMAD_UNKNOWN ? json_null() : json_integer(value);
}

json_t *api_json_hex(int value)
{
	char text[16];

	if (value == RDMAD_UNKNOWN)
		return json_null();
	g_snprintf(text, sizeof(text), "0x%04x", (guint)value);
	return json_string(text);
}

json_t *api_json_wide(guint64 value)
{
	char text[24];

	g_snprintf(text, sizeof(text), "0x%" G_GINT64_MODIFIER "x", value);
	return json_string(text);
}

json_t *api_json_time(gint64 wall_us)
{
	g_autoptr(GDateTime) second = g_date_time_new_from_unix_utc(wall_us / G_USEC_PER_SEC);
	g_autofree char *text = NULL, *whole = NULL;

	if (!second || wall_us <= 0)
		return json_null();
	text = g_date_time_format(second, "%Y-%m-%dT%H:%M:%S");
	whole = g_strdup_printf("%s.%06dZ", text, (int)(wall_us % G_USEC_PER_SEC));
	return json_string(whole);
}

void api_set_pod(json_t *object, const char *pod)
{
	g_auto(GStrv) parts = g_strsplit(pod ?: "", "/", 2);
	const gboolean whole = g_strv_length(parts) == 2;

	api_set(object, "namespace", rdmad_json_string(whole ? parts[0] : NULL));
	api_set(object, "pod", rdmad_json_string(whole ? parts[1] : pod));
}
