/* SPDX-License-Identifier: Apache-2.0 */
#include "names/names.h"

#include "names/table.h"

#define UNNAMED	      "unnamed"
#define NAME_MAX_SIZE 128u /* of a kernel's name; sysfs allows 255 */

/* Converts to lower case: promtool rejects camelCase. */
char *names_sanitise(const char *name)
{
	char *clean = g_malloc(NAME_MAX_SIZE + sizeof(UNNAMED));
	gsize size = 0;

	for (const char *at = name; *at && size < NAME_MAX_SIZE; at++) {
		const char c = g_ascii_isalnum(*at) ? g_ascii_tolower(*at) : '_';

		/* A run of other characters becomes one "_". */
		if (c != '_' || (size && clean[size - 1] != '_'))
			clean[size++] = c;
	}
	if (size && clean[size - 1] == '_')
		size--;
	clean[size] = '\0';
	if (!size)
		memcpy(clean, UNNAMED, sizeof(UNNAMED));
	return clean;
}

void counter_name_free(CounterName *name)
{
	if (!name)
		return;
	g_free(name->family);
	g_free(name->help);
	g_free(name);
}

const NameRow *name_row_find(const NameRow *rows, guint n_rows, const char *raw)
{
	for (guint i = 0; i < n_rows; i++)
		if (g_str_equal(rows[i].raw, raw))
			return &rows[i];
	return NULL;
}

CounterName *counter_name_new(const NameRow *row)
{
	CounterName *name = g_new0(CounterName, 1);

	name->family = g_strdup(row->family);
	name->type = FAMILY_COUNTER;
	name->unit = row->unit;
	name->help = g_strdup(row->help);
	name->times = row->times ? row->times : 1;
	name->known = TRUE;
	return name;
}

CounterName *counter_name_unknown(char *family, char *help)
{
	CounterName *name = g_new0(CounterName, 1);

	name->family = family;
	name->type = FAMILY_COUNTER;
	name->unit = g_str_has_suffix(family, "_bytes") ? "bytes" : NULL;
	name->help = help;
	name->times = 1;
	return name;
}

CounterName *names_native(const RdmadCounter *counter)
{
	if (!counter->name)
		return NULL;
	switch (counter->group) {
	case RDMAD_COUNTER_PORT:
		return names_port(counter->name);
	case RDMAD_COUNTER_HW:
	case RDMAD_COUNTER_DEVICE:
		return names_hw(counter->name, counter->group == RDMAD_COUNTER_DEVICE);
	case RDMAD_COUNTER_LINK:
	case RDMAD_COUNTER_PAUSE:
	case RDMAD_COUNTER_FEC:
	case RDMAD_COUNTER_ETHTOOL:
		return names_netdev(counter->group, counter->name);
	}
	return NULL;
}
