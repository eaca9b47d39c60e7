/* SPDX-License-Identifier: Apache-2.0 */
#include "config/units.h"

#include <errno.h>

/* Largest first; the last one is what values are kept in. */
typedef struct {
	const char *name;
	guint64 factor;
} Unit;

static const Unit durations[] = { { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };
static const Unit sizes[] = { { "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 } };

static gboolean parse(const char *text, const Unit *units, guint n_units, guint64 *value)
{
	char *rest = NULL;
	guint64 number;

	/* The C library would take blanks and a sign. */
	if (!g_ascii_isdigit(*text))
		return FALSE;
	errno = 0;
	number = g_ascii_strtoull(text, &rest, 10);
	if (errno != 0)
		return FALSE;
	for (guint i = 0; i < n_units; i++)
		if (g_str_equal(rest, units[i].name))
			return !__builtin_mul_overflow(number, units[i].factor, value);
	return FALSE;
}

static char *format(guint64 value, const Unit *units, guint n_units)
{
	guint i = 0;

	while (i < n_units - 1 && (value < units[i].factor || value % units[i].factor != 0))
		i++;
	return g_strdup_printf("%" G_GUINT64_FORMAT "%s", value / units[i].factor, units[i].name);
}

gboolean rdmad_config_parse_duration(const char *text, guint64 *ms)
{
	return parse(text, durations, G_N_ELEMENTS(durations), ms);
}

gboolean rdmad_config_parse_size(const char *text, guint64 *bytes)
{
	return parse(text, sizes, G_N_ELEMENTS(sizes), bytes);
}

char *rdmad_config_format_duration(guint64 ms)
{
	return format(ms, durations, G_N_ELEMENTS(durations));
}

char *rdmad_config_format_size(guint64 bytes)
{
	return format(bytes, sizes, G_N_ELEMENTS(sizes));
}
