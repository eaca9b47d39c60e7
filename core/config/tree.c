/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tree.h"

#include <libconfig.h>
#include <math.h>
#include <rdmad/error.h>
#include <string.h>

#include "base/redactor.h"
#include "config/scan.h"
#include "config/source.h"

static RdmadConfigNode *node_from(const RdmadConfigText *text, const config_setting_t *setting,
				  GError **error);

static gboolean node_set_scalar(RdmadConfigNode *node, const config_setting_t *setting)
{
	switch (node->kind) {
	case RDMAD_CONFIG_KIND_BOOL:
		node->integer = config_setting_get_bool(setting) != 0;
		return TRUE;
	case RDMAD_CONFIG_KIND_INT:
		/* This function also reads 32-bit settings, in all versions. */
		node->integer = config_setting_get_int64(setting);
		return TRUE;
	case RDMAD_CONFIG_KIND_FLOAT:
		node->real = config_setting_get_float(setting);
		return isfinite(node->real);
	case RDMAD_CONFIG_KIND_STRING:
		node->string = g_strdup(config_setting_get_string(setting));
		if (!node->string)
			node->string = g_strdup("");
		return g_utf8_validate(node->string, -1, NULL);
	case RDMAD_CONFIG_KIND_GROUP:
	case RDMAD_CONFIG_KIND_LIST:
	case RDMAD_CONFIG_KIND_NOTHING:
		return TRUE;
	}
	g_assert_not_reached();
}

static gboolean node_add_children(RdmadConfigNode *node, const RdmadConfigText *text,
				  const config_setting_t *setting, GError **error)
{
	const int length = config_setting_length(setting);

	for (int i = 0; i < length; i++) {
		const config_setting_t *element = config_setting_get_elem(setting, (guint)i);
		RdmadConfigNode *child = node_from(text, element, error);

		if (!child)
			return FALSE;
		rdmad_config_node_add(node, child);
	}
	return TRUE;
}

/* Returns -1 for an unknown type. */
static int kind_of(const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_GROUP:
		return RDMAD_CONFIG_KIND_GROUP;
	case CONFIG_TYPE_ARRAY:
	case CONFIG_TYPE_LIST:
		return RDMAD_CONFIG_KIND_LIST;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return RDMAD_CONFIG_KIND_INT;
	case CONFIG_TYPE_FLOAT:
		return RDMAD_CONFIG_KIND_FLOAT;
	case CONFIG_TYPE_STRING:
		return RDMAD_CONFIG_KIND_STRING;
	case CONFIG_TYPE_BOOL:
		return RDMAD_CONFIG_KIND_BOOL;
	default:
		return -1;
	}
}

static RdmadConfigNode *node_from(const RdmadConfigText *text, const config_setting_t *setting,
				  GError **error)
{
	guint line = MAX(config_setting_source_line(setting), 1u);
	const char *file = rdmad_config_text_place(text, line, &line);
	const char *name = config_setting_name(setting);
	const int kind = kind_of(setting);
	g_autoptr(RdmadConfigNode) node = NULL;

	if (kind < 0) {
		rdmad_config_source_error(error, file, line, "`%s` has no value", name ?: "?");
		return NULL;
	}
	node = rdmad_config_node_new((RdmadConfigKind)kind, name, file, line);
	if (!node_set_scalar(node, setting)) {
		rdmad_config_source_error(error, file, line, "`%s`: %s", name ?: "entry of a list",
					  kind == RDMAD_CONFIG_KIND_STRING
						  ? "is not UTF-8"
						  : "the number is too large");
		return NULL;
	}
	if (node->children && !node_add_children(node, text, setting, error))
		return NULL;
	return g_steal_pointer(&node);
}

static gboolean is_blank_line(const char *at)
{
	at += strspn(at, " \t\r\f");
	return *at == '\n' || *at == '\0';
}

/* Returns the line of libconfig's error, without its indentation.  libconfig reports something
 * missing at the end of a line on the next line that is not blank. */
static char *error_line(const char *text, int *line)
{
	const char *at = text, *next;

	for (int n = 1; n < *line && (next = strchr(at, '\n')) != NULL; n++)
		at = next + 1;
	while (at > text && is_blank_line(at)) {
		for (at--; at > text && at[-1] != '\n'; at--)
			;
		--*line;
	}
	return g_strstrip(g_strndup(at, MIN(strcspn(at, "\n"), 80)));
}

static const char *explain(const char *text)
{
	if (g_strcmp0(text, "duplicate setting name") == 0)
		return "this key was given before in the same group";
	if (g_strcmp0(text, "mismatched element type in array") == 0)
		return "the entries of an array [ ] must all have one type, use a list ( )";
	if (g_strcmp0(text, "syntax error") == 0)
		return "syntax error here or just before; a setting is `key = value;`";
	return text ? text : "cannot be parsed";
}

static void report(const RdmadConfigText *text, const config_t *parser, GError **error)
{
	int line = MAX(config_error_line(parser), 1);
	g_autofree char *here = error_line(text->text->str, &line);
	guint in_file;
	const char *file = rdmad_config_text_place(text, (guint)line, &in_file);
	g_autoptr(RdmadRedactor) redactor = rdmad_redactor_new();
	g_autofree char *shown = rdmad_redactor_text(redactor, here);

	rdmad_config_source_error(error, file, in_file, "%s%s%s%s",
				  explain(config_error_text(parser)), shown && *shown ? ": `" : "",
				  shown ?: "", shown && *shown ? "`" : "");
}

RdmadConfigNode *rdmad_config_tree_parse(const char *file, const char *text,
					 const char *include_dir, GError **error)
{
	g_autoptr(RdmadConfigText) whole = rdmad_config_scan(file, text, include_dir, error);
	RdmadConfigNode *root = NULL;
	config_t parser;

	if (!whole)
		return NULL;
	config_init(&parser);
	if (config_read_string(&parser, whole->text->str) == CONFIG_TRUE)
		root = node_from(whole, config_root_setting(&parser), error);
	else
		report(whole, &parser, error);
	config_destroy(&parser);
	return root;
}
