/* SPDX-License-Identifier: Apache-2.0 */
/* Typed fields: the values of a group, stored in a struct */
#include "config/fields.h"

#include <errno.h>
#include <rdmad/config.h>
#include <string.h>

#include "base/nearest.h"
#include "config/config-private.h"
#include "config/node.h"

/* ---- numbers with a unit: durations and sizes ---- */

/* Largest first; the last one is the unit of stored values. */
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

	/* The C library would accept blanks and a sign. */
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

#define STRING_MAX  4096
#define STRINGS_MAX 4096

static gboolean wrong_type(const RdmadConfigNode *node, const char *expected, GError **error)
{
	g_autofree char *found = rdmad_config_node_describe(node);

	return rdmad_config_error(node, NULL, error, "expected %s, found %s", expected, found);
}

static gboolean any_value(const RdmadConfigField *field)
{
	return field->min == 0 && field->max == 0;
}

static gboolean set_bool(const RdmadConfigField *field, const RdmadConfigNode *node, gboolean *out,
			 GError **error)
{
	if (node->kind != RDMAD_CONFIG_KIND_BOOL)
		return wrong_type(node, "true or false", error);
	*out = node->integer != 0;
	return TRUE;
}

static gboolean set_int(const RdmadConfigField *field, const RdmadConfigNode *node, gint64 *out,
			GError **error)
{
	if (node->kind != RDMAD_CONFIG_KIND_INT)
		return wrong_type(node, "an integer", error);
	if (!any_value(field) && (node->integer < field->min || node->integer > field->max))
		return rdmad_config_error(node, NULL, error,
					  "%" G_GINT64_FORMAT " is not from %" G_GINT64_FORMAT
					  " to %" G_GINT64_FORMAT,
					  node->integer, field->min, field->max);
	*out = node->integer;
	return TRUE;
}

static gboolean check_string(const RdmadConfigField *field, const RdmadConfigNode *node, gint64 min,
			     gint64 max, GError **error)
{
	const gint64 length = (gint64)strlen(node->string);
	g_autoptr(GError) reason = NULL;

	if (length == 0 && min > 0)
		return rdmad_config_error(node, NULL, error, "must not be empty");
	if (length < min || length > max)
		return rdmad_config_error(node, NULL, error,
					  "has %" G_GINT64_FORMAT
					  " bytes, not from %" G_GINT64_FORMAT
					  " to %" G_GINT64_FORMAT,
					  length, min, max);
	if (!field->check || field->check(node->string, &reason))
		return TRUE;
	return rdmad_config_error(node, NULL, error, "%s", reason ? reason->message : "not valid");
}

static gboolean set_string(const RdmadConfigField *field, const RdmadConfigNode *node, char **out,
			   GError **error)
{
	const gint64 max = any_value(field) ? STRING_MAX : field->max;

	if (!node->string)
		return wrong_type(node, "a string", error);
	if (!check_string(field, node, field->min, max, error))
		return FALSE;
	g_free(*out);
	*out = g_strdup(node->string);
	return TRUE;
}

static gboolean check_strings_entry(const RdmadConfigField *field, const RdmadConfigNode *node,
				    GError **error)
{
	if (!node->string)
		return wrong_type(node, "a string", error);
	return check_string(field, node, 0, STRING_MAX, error);
}

static gboolean set_strings(const RdmadConfigField *field, const RdmadConfigNode *node, char ***out,
			    GError **error)
{
	const gboolean list = node->kind == RDMAD_CONFIG_KIND_LIST;
	const guint length = list ? node->children->len : 1;
	const gint64 max = any_value(field) ? STRINGS_MAX : field->max;
	g_auto(GStrv) values = NULL;

	/* In YAML, only a list is accepted, as by other readers of such a file. */
	if (!list && node->yaml)
		return wrong_type(node, "a list of strings", error);
	if (!list && node->kind != RDMAD_CONFIG_KIND_STRING)
		return wrong_type(node, "a string or a list of strings", error);
	if (length < field->min || length > max)
		return rdmad_config_error(node, NULL, error,
					  "has %u entries, not from %" G_GINT64_FORMAT
					  " to %" G_GINT64_FORMAT,
					  length, field->min, max);
	values = g_new0(char *, length + 1);
	for (guint i = 0; i < length; i++) {
		const RdmadConfigNode *entry = list ? rdmad_config_entry(node, i) : node;

		if (!check_strings_entry(field, entry, error))
			return FALSE;
		values[i] = g_strdup(entry->string);
	}
	g_strfreev(*out);
	*out = g_steal_pointer(&values);
	return TRUE;
}

/* Differences between durations and sizes. */
typedef struct {
	const char *expected;
	guint64 integer_factor; /* of a number without a unit */
	gboolean (*parse)(const char *text, guint64 *value);
	char *(*format)(guint64 value);
} UnitField;

static const UnitField duration = {
	.expected = "seconds or a duration such as \"250ms\", \"5s\", \"2m\", \"1h\"",
	.integer_factor = 1000,
	.parse = rdmad_config_parse_duration,
	.format = rdmad_config_format_duration,
};

static const UnitField size = {
	.expected = "bytes or a size such as \"64K\", \"8M\", \"2G\"",
	.integer_factor = 1,
	.parse = rdmad_config_parse_size,
	.format = rdmad_config_format_size,
};

static gboolean unit_read(const UnitField *unit, const RdmadConfigNode *node, guint64 *value)
{
	if (node->kind == RDMAD_CONFIG_KIND_STRING)
		return unit->parse(node->string, value);
	return node->kind == RDMAD_CONFIG_KIND_INT && node->integer >= 0 &&
	       !__builtin_mul_overflow((guint64)node->integer, unit->integer_factor, value);
}

static gboolean set_unit(const RdmadConfigField *field, const UnitField *unit,
			 const RdmadConfigNode *node, guint64 *out, GError **error)
{
	g_autofree char *low = NULL, *high = NULL, *found = NULL;
	guint64 value;

	if (!unit_read(unit, node, &value))
		return wrong_type(node, unit->expected, error);
	if (any_value(field) || (value >= (guint64)field->min && value <= (guint64)field->max)) {
		*out = value;
		return TRUE;
	}
	low = unit->format((guint64)field->min);
	high = unit->format((guint64)field->max);
	found = unit->format(value);
	return rdmad_config_error(node, NULL, error, "%s is not from %s to %s", found, low, high);
}

static gboolean set_enum(const RdmadConfigField *field, const RdmadConfigNode *node, int *out,
			 GError **error)
{
	g_autofree char *all = g_strjoinv("\", \"", (char **)(gpointer)field->choices);
	g_autofree char *value = NULL;
	const char *meant;

	if (!node->string) {
		g_autofree char *expected = g_strdup_printf("one of \"%s\"", all);

		return wrong_type(node, expected, error);
	}
	for (int i = 0; field->choices[i]; i++) {
		if (g_str_equal(field->choices[i], node->string)) {
			*out = i;
			return TRUE;
		}
	}
	value = node->yaml ? g_strdup("it") : g_strdup_printf("\"%.80s\"", node->string);
	meant = rdmad_nearest(node->string, field->choices);
	if (meant)
		return rdmad_config_error(node, NULL, error,
					  "%s is not one of \"%s\"; did you mean \"%s\"?", value,
					  all, meant);
	return rdmad_config_error(node, NULL, error, "%s is not one of \"%s\"", value, all);
}

static const char *group_words(const RdmadConfigNode *node)
{
	return node->yaml ? "keys and values" : "a group { ... }";
}

static gboolean set_group(const RdmadConfigNode *node, const RdmadConfigNode **out, GError **error)
{
	if (node->kind != RDMAD_CONFIG_KIND_GROUP)
		return wrong_type(node, group_words(node), error);
	*out = node;
	return TRUE;
}

static gboolean set_list(const RdmadConfigField *field, const RdmadConfigNode *node,
			 const RdmadConfigNode **out, GError **error)
{
	if (node->kind != RDMAD_CONFIG_KIND_LIST)
		return wrong_type(node, "a list of groups ( { ... }, { ... } )", error);
	if (!any_value(field) &&
	    (node->children->len < field->min || node->children->len > field->max))
		return rdmad_config_error(node, NULL, error,
					  "has %u entries, not from %" G_GINT64_FORMAT
					  " to %" G_GINT64_FORMAT,
					  node->children->len, field->min, field->max);
	for (guint i = 0; i < node->children->len; i++) {
		const RdmadConfigNode *entry = rdmad_config_entry(node, i);

		if (entry->kind != RDMAD_CONFIG_KIND_GROUP)
			return wrong_type(entry, group_words(entry), error);
	}
	*out = node;
	return TRUE;
}

static gboolean set_groups(const RdmadConfigField *field, const RdmadConfigNode *node,
			   const RdmadConfigNode **out, GError **error)
{
	if (node->kind == RDMAD_CONFIG_KIND_GROUP)
		return set_group(node, out, error);
	if (node->kind != RDMAD_CONFIG_KIND_LIST)
		return wrong_type(node, "a group { ... } or a list of groups", error);
	return set_list(field, node, out, error);
}

static gboolean set_field(const RdmadConfigField *field, const RdmadConfigNode *node, gpointer out,
			  GError **error)
{
	gpointer member = G_STRUCT_MEMBER_P(out, field->offset);

	switch (field->type) {
	case RDMAD_CONFIG_BOOL:
		return set_bool(field, node, member, error);
	case RDMAD_CONFIG_INT:
		return set_int(field, node, member, error);
	case RDMAD_CONFIG_STRING:
		return set_string(field, node, member, error);
	case RDMAD_CONFIG_STRINGS:
		return set_strings(field, node, member, error);
	case RDMAD_CONFIG_DURATION:
		return set_unit(field, &duration, node, member, error);
	case RDMAD_CONFIG_SIZE:
		return set_unit(field, &size, node, member, error);
	case RDMAD_CONFIG_ENUM:
		return set_enum(field, node, member, error);
	case RDMAD_CONFIG_GROUP:
		return set_group(node, member, error);
	case RDMAD_CONFIG_LIST:
		return set_list(field, node, member, error);
	case RDMAD_CONFIG_GROUPS:
		return set_groups(field, node, member, error);
	}
	g_assert_not_reached();
}

static const RdmadConfigField *field_named(const RdmadConfigField *fields, const char *key)
{
	for (; fields->key; fields++)
		if (g_str_equal(fields->key, key))
			return fields;
	return NULL;
}

static gboolean unknown_key(const RdmadConfigNode *group, const RdmadConfigNode *node,
			    const RdmadConfigField *fields, GError **error)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	g_autofree char *all = NULL;
	const char *meant;

	for (; fields->key; fields++)
		g_ptr_array_add(keys, (gpointer)fields->key);
	g_ptr_array_add(keys, NULL);
	meant = rdmad_nearest(node->name, (const char *const *)keys->pdata);
	if (meant)
		return rdmad_config_error(group, node->name, error,
					  "unknown key; did you mean `%s`?", meant);
	all = g_strjoinv(", ", (char **)keys->pdata);
	return rdmad_config_error(group, node->name, error, "unknown key; known here are: %s",
				  *all ? all : "none");
}

static gboolean check_required(const RdmadConfigNode *group, const RdmadConfigField *fields,
			       GError **error)
{
	for (; fields->key; fields++)
		if (fields->required && (!group || !rdmad_config_node_find(group, fields->key)))
			return rdmad_config_error(group, NULL, error,
						  "the required key `%s` is missing", fields->key);
	return TRUE;
}

static gboolean check_group(const RdmadConfigNode *node, GError **error)
{
	if (node->kind != RDMAD_CONFIG_KIND_GROUP)
		return wrong_type(node, group_words(node), error);
	return TRUE;
}

static gboolean parse_child(const RdmadConfigNode *group, const RdmadConfigNode *child,
			    const RdmadConfigField *fields, gpointer out, GError **error)
{
	const RdmadConfigField *field = field_named(fields, child->name);

	if (!field)
		return child->shared || unknown_key(group, child, fields, error);
	return child->kind == RDMAD_CONFIG_KIND_NOTHING || set_field(field, child, out, error);
}

gboolean rdmad_config_parse(const RdmadConfigNode *node, const RdmadConfigField *fields,
			    gpointer out, GError **error)
{
	gboolean good = TRUE;

	if (node && !check_group(node, error))
		return FALSE;
	for (guint i = 0; node && i < node->children->len; i++)
		good &= parse_child(node, g_ptr_array_index(node->children, i), fields, out, error);
	return check_required(node, fields, error) && good;
}

gboolean rdmad_config_parse_shared(const RdmadConfigNode *group, const RdmadConfigField *fields,
				   gpointer out, GError **error)
{
	if (group && !check_group(group, error))
		return FALSE;
	for (const RdmadConfigField *field = fields; group && field->key; field++) {
		RdmadConfigNode *child = rdmad_config_node_find(group, field->key);

		if (!child)
			continue;
		if (!set_field(field, child, out, error))
			return FALSE;
		child->shared = TRUE;
	}
	return check_required(group, fields, error);
}
