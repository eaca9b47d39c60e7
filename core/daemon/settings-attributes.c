/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes from the configuration
 *
 *	attributes = ( { name = "label:vke.node.rdma.mode"; value = "shared"; } );
 *
 * This is a list because names contain characters that are invalid in keys.
 */
#include "daemon/settings-attributes.h"

#include <rdmad/error.h>

#define TEXT_MAX       253
#define ATTRIBUTES_MAX 1024u

typedef struct {
	char *name, *value;
} Attribute;

/* clang-format off */
static const RdmadConfigField attribute_fields[] = {
	{ .key = "name", .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(Attribute, name),
	  .min = 1, .max = TEXT_MAX, .required = TRUE },
	{ .key = "value", .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(Attribute, value),
	  .min = 1, .max = TEXT_MAX, .required = TRUE },
	RDMAD_CONFIG_FIELDS_END,
};
/* clang-format on */

static gboolean attribute_read(RdmadSettings *settings, const RdmadConfigNode *node, GError **error)
{
	Attribute attribute = { 0 };
	gboolean ok = rdmad_config_parse(node, attribute_fields, &attribute, error);

	if (ok && g_hash_table_contains(settings->attributes, attribute.name))
		ok = rdmad_config_error(node, "name", error, "\"%s\" is there already",
					attribute.name);
	if (ok) {
		g_hash_table_insert(settings->attributes, attribute.name, attribute.value);
		return TRUE;
	}
	g_free(attribute.name);
	g_free(attribute.value);
	return FALSE;
}

gboolean rdmad_settings_read_attributes(RdmadSettings *settings, const RdmadConfigNode *list,
					GError **error)
{
	const guint n = rdmad_config_length(list);

	settings->attributes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (n > ATTRIBUTES_MAX)
		return rdmad_config_error(list, NULL, error, "more than %u attributes",
					  ATTRIBUTES_MAX);
	for (guint i = 0; i < n; i++)
		if (!attribute_read(settings, rdmad_config_entry(list, i), error))
			return FALSE;
	return TRUE;
}

/* Cannot fail: names and values were checked when they were read. */
static void attribute_set(RdmadAttributes *attributes, const char *name, const char *value)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_attributes_set(attributes, NULL, name, value, &error))
		g_assert_not_reached();
}

void rdmad_settings_apply_attributes(const RdmadSettings *before, const RdmadSettings *now,
				     RdmadAttributes *attributes)
{
	GHashTableIter iter;
	gpointer name, value;

	if (before)
		g_hash_table_iter_init(&iter, before->attributes);
	while (before && g_hash_table_iter_next(&iter, &name, NULL))
		if (!g_hash_table_contains(now->attributes, name))
			attribute_set(attributes, name, NULL);
	g_hash_table_iter_init(&iter, now->attributes);
	while (g_hash_table_iter_next(&iter, &name, &value))
		attribute_set(attributes, name, value);
}
