/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from the configuration
 *
 *	facts = ( { name = "label:vke.node.rdma.mode"; value = "shared"; } );
 *
 * A list, for names hold characters that no key may have.
 */
#include "daemon/settings-facts.h"

#include <rdmad/error.h>

#define TEXT_MAX  253
#define FACTS_MAX 1024u

typedef struct {
	char *name, *value;
} Fact;

/* clang-format off */
static const RdmadConfigField fact_fields[] = {
	{ .key = "name", .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(Fact, name),
	  .min = 1, .max = TEXT_MAX, .required = TRUE },
	{ .key = "value", .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(Fact, value),
	  .min = 1, .max = TEXT_MAX, .required = TRUE },
	RDMAD_CONFIG_FIELDS_END,
};
/* clang-format on */

static gboolean fact_read(RdmadSettings *settings, const RdmadConfigNode *node, GError **error)
{
	Fact fact = { 0 };
	gboolean ok = rdmad_config_parse(node, fact_fields, &fact, error);

	if (ok && g_hash_table_contains(settings->facts, fact.name))
		ok = rdmad_config_error(node, "name", error, "\"%s\" is there already", fact.name);
	if (ok) {
		g_hash_table_insert(settings->facts, fact.name, fact.value);
		return TRUE;
	}
	g_free(fact.name);
	g_free(fact.value);
	return FALSE;
}

gboolean rdmad_settings_read_facts(RdmadSettings *settings, const RdmadConfigNode *list,
				   GError **error)
{
	const guint n = rdmad_config_length(list);

	settings->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (n > FACTS_MAX)
		return rdmad_config_error(list, NULL, error, "more than %u facts", FACTS_MAX);
	for (guint i = 0; i < n; i++)
		if (!fact_read(settings, rdmad_config_entry(list, i), error))
			return FALSE;
	return TRUE;
}

/* Names and values were checked when they were read. */
static void fact_set(RdmadFacts *facts, const char *name, const char *value)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_facts_set(facts, NULL, name, value, &error))
		g_assert_not_reached();
}

void rdmad_settings_apply_facts(const RdmadSettings *before, const RdmadSettings *now,
				RdmadFacts *facts)
{
	GHashTableIter iter;
	gpointer name, value;

	if (before)
		g_hash_table_iter_init(&iter, before->facts);
	while (before && g_hash_table_iter_next(&iter, &name, NULL))
		if (!g_hash_table_contains(now->facts, name))
			fact_set(facts, name, NULL);
	g_hash_table_iter_init(&iter, now->facts);
	while (g_hash_table_iter_next(&iter, &name, &value))
		fact_set(facts, name, value);
}
