/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/command.h"

const char *format_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

char *format_scalar(const json_t *value)
{
	if (!value)
		return NULL;
	switch (json_typeof(value)) {
	case JSON_STRING:
		return g_strdup(json_string_value(value));
	case JSON_INTEGER:
		return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	case JSON_REAL:
		return g_strdup_printf("%g", json_real_value(value));
	case JSON_TRUE:
		return g_strdup("yes");
	case JSON_FALSE:
		return g_strdup("no");
	case JSON_ARRAY:
		return format_list(value, ", ");
	case JSON_OBJECT:
	case JSON_NULL:
		break;
	}
	return NULL;
}

char *format_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? format_scalar(value) : NULL;
}

char *format_list(const json_t *array, const char *separator)
{
	GString *out = g_string_new(NULL);
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		g_autofree char *text = format_scalar(item);

		g_string_append_printf(out, "%s%s", i ? separator : "", text ?: "-");
	}
	return g_string_free(out, FALSE);
}

char *format_rate(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const json_int_t mbps = json_integer_value(value);

	if (!json_is_integer(value))
		return NULL;
	if (mbps < 1000)
		return g_strdup_printf("%" JSON_INTEGER_FORMAT "M", mbps);
	return g_strdup_printf("%gG", (double)mbps / 1000);
}

char *format_bytes(guint64 bytes)
{
	static const char *const units[] = { "", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
	guint unit = 0;

	for (; bytes >= 1024 && bytes % 1024 == 0; bytes /= 1024)
		unit++;
	return g_strdup_printf("%" G_GUINT64_FORMAT "%s", bytes, units[unit]);
}

char *format_duration(gint64 seconds)
{
	const gint64 minutes = seconds / 60, hours = minutes / 60, days = hours / 24;

	if (seconds < 0)
		return g_strdup("0s");
	if (days)
		return g_strdup_printf("%" G_GINT64_FORMAT "d %" G_GINT64_FORMAT "h", days,
				       hours % 24);
	if (hours)
		return g_strdup_printf("%" G_GINT64_FORMAT "h %" G_GINT64_FORMAT "m", hours,
				       minutes % 60);
	if (minutes)
		return g_strdup_printf("%" G_GINT64_FORMAT "m", minutes);
	return g_strdup_printf("%" G_GINT64_FORMAT "s", seconds);
}

char *format_age(const char *rfc3339, gint64 now_us)
{
	g_autoptr(GDateTime) then = rfc3339 ? g_date_time_new_from_iso8601(rfc3339, NULL) : NULL;

	if (!then)
		return NULL;
	return format_duration(now_us / G_USEC_PER_SEC - g_date_time_to_unix(then));
}

char *format_local_time(const char *rfc3339)
{
	g_autoptr(GDateTime) utc = rfc3339 ? g_date_time_new_from_iso8601(rfc3339, NULL) : NULL;
	g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;

	return local ? g_date_time_format(local, "%Y-%m-%dT%H:%M:%S%z") : NULL;
}

char *format_pod(const json_t *object)
{
	const char *namespace = format_text(object, "namespace");
	const char *pod = format_text(object, "pod");

	return namespace && pod ? g_strconcat(namespace, "/", pod, NULL) : g_strdup(pod);
}
