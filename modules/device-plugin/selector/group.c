/* SPDX-License-Identifier: Apache-2.0 */
#include "selector/group.h"

#include <rdmad/error.h>
#include <string.h>

#define PATTERN_MAX 128u

gboolean rdmad_pattern_is_negative(const char *pattern)
{
	return pattern[0] == '!';
}

const char *rdmad_pattern_text(const char *pattern)
{
	return rdmad_pattern_is_negative(pattern) ? pattern + 1 : pattern;
}

static gboolean pattern_check(const char *pattern, GError **error)
{
	if (rdmad_pattern_text(pattern)[0] && strlen(pattern) <= PATTERN_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "a pattern has 1 to %u characters, after a \"!\" for an exclusion",
		    PATTERN_MAX);
	return FALSE;
}

/* The keys, `exclude` and the end. */
static void fields_make(RdmadConfigField fields[RDMAD_SELECT_N + 2], gboolean may_exclude)
{
	for (guint key = 0; key < RDMAD_SELECT_N; key++)
		fields[key] = (RdmadConfigField){
			.key = rdmad_select_key_name(key),
			.type = RDMAD_CONFIG_STRINGS,
			.offset = G_STRUCT_OFFSET(RdmadSelectorGroup, patterns) +
				  key * sizeof(char **),
			.check = pattern_check,
		};
	fields[RDMAD_SELECT_N] = (RdmadConfigField)RDMAD_CONFIG_GROUPS_FIELD(
		may_exclude ? "exclude" : NULL, RdmadSelectorGroup, exclude_node);
	fields[RDMAD_SELECT_N + 1] = (RdmadConfigField)RDMAD_CONFIG_FIELDS_END;
}

static void group_free(gpointer data)
{
	RdmadSelectorGroup *group = data;

	for (guint key = 0; key < RDMAD_SELECT_N; key++)
		g_strfreev(group->patterns[key]);
	if (group->exclude)
		g_ptr_array_unref(group->exclude);
	g_free(group);
}

static gboolean group_check(const RdmadSelectorGroup *group, const RdmadConfigNode *node,
			    GError **error)
{
	for (guint key = 0; key < RDMAD_SELECT_N; key++)
		for (char **pattern = group->patterns[key]; pattern && *pattern; pattern++) {
			g_autoptr(GError) reason = NULL;

			if (!rdmad_select_key_check(key, rdmad_pattern_text(*pattern), &reason))
				return rdmad_config_error(node, rdmad_select_key_name(key), error,
							  "%s", reason->message);
		}
	return TRUE;
}

static gboolean groups_parse(const RdmadConfigNode *node, gboolean may_exclude, GPtrArray **out,
			     GError **error)
{
	const guint n = rdmad_config_length(node);
	RdmadConfigField fields[RDMAD_SELECT_N + 2];

	fields_make(fields, may_exclude);
	if (n)
		*out = g_ptr_array_new_with_free_func(group_free);
	for (guint i = 0; i < n; i++) {
		const RdmadConfigNode *entry = rdmad_config_entry(node, i);
		RdmadSelectorGroup *group = g_new0(RdmadSelectorGroup, 1);

		g_ptr_array_add(*out, group);
		if (!rdmad_config_parse(entry, fields, group, error) ||
		    !group_check(group, entry, error) ||
		    !groups_parse(group->exclude_node, FALSE, &group->exclude, error))
			return FALSE;
		group->exclude_node = NULL;
	}
	return TRUE;
}

gboolean rdmad_selector_groups_parse(const RdmadConfigNode *node, GPtrArray **out, GError **error)
{
	return groups_parse(node, TRUE, out, error);
}

GPtrArray *rdmad_selector_groups_of(RdmadSelectKey key, const char *const *patterns)
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
	RdmadSelectorGroup *group = g_new0(RdmadSelectorGroup, 1);

	group->patterns[key] = g_strdupv((char **)patterns);
	g_ptr_array_add(groups, group);
	return groups;
}

/* ---- equality ---- */

static gboolean group_equal(const RdmadSelectorGroup *a, const RdmadSelectorGroup *b)
{
	for (guint key = 0; key < RDMAD_SELECT_N; key++) {
		const char *const *x = (const char *const *)a->patterns[key];
		const char *const *y = (const char *const *)b->patterns[key];

		if (!x != !y || (x && !g_strv_equal(x, y)))
			return FALSE;
	}
	return rdmad_selector_groups_equal(a->exclude, b->exclude);
}

gboolean rdmad_selector_groups_equal(const GPtrArray *a, const GPtrArray *b)
{
	if ((a ? a->len : 0) != (b ? b->len : 0))
		return FALSE;
	for (guint i = 0; a && i < a->len; i++)
		if (!group_equal(a->pdata[i], b->pdata[i]))
			return FALSE;
	return TRUE;
}
