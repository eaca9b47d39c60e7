/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a configuration in libconfig's syntax */
#include <string.h>

#include "config/config-private.h"
#include "config/node.h"

static void print_value(GString *text, const RdmadConfigNode *node, guint depth);

static void indent(GString *text, guint depth)
{
	for (guint i = 0; i < depth; i++)
		g_string_append_c(text, '\t');
}

static void print_string(GString *text, const char *string)
{
	g_string_append_c(text, '"');
	for (const char *next; *string; string = next) {
		const gunichar c = g_utf8_get_char(string);

		next = g_utf8_next_char(string);
		if (c == '"' || c == '\\')
			g_string_append_printf(text, "\\%c", (char)c);
		else if (c == '\n')
			g_string_append(text, "\\n");
		else if (c == '\t')
			g_string_append(text, "\\t");
		else if (!g_unichar_iscntrl(c) && g_unichar_type(c) != G_UNICODE_FORMAT)
			g_string_append_len(text, string, next - string);
		else
			for (; string < next; string++)
				g_string_append_printf(text, "\\x%02x", (guchar)*string);
	}
	g_string_append_c(text, '"');
}

static void print_float(GString *text, double real)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(digits, sizeof(digits), real);
	g_string_append(text, digits);
	if (!strpbrk(digits, ".e"))
		g_string_append(text, ".0");
}

static void print_int(GString *text, gint64 integer)
{
	g_string_append_printf(text, "%" G_GINT64_FORMAT, integer);
	if (integer < G_MININT32 || integer > G_MAXINT32)
		g_string_append_c(text, 'L');
}

static void print_settings(GString *text, const RdmadConfigNode *group, guint depth)
{
	for (guint i = 0; i < group->children->len; i++) {
		const RdmadConfigNode *child = g_ptr_array_index(group->children, i);

		indent(text, depth);
		g_string_append_printf(text, "%s = ", child->name);
		print_value(text, child, depth);
		g_string_append(text, ";\n");
	}
}

static void print_group(GString *text, const RdmadConfigNode *group, guint depth)
{
	if (group->children->len == 0) {
		g_string_append(text, "{ }");
		return;
	}
	g_string_append(text, "{\n");
	print_settings(text, group, depth + 1);
	indent(text, depth);
	g_string_append_c(text, '}');
}

static void print_list(GString *text, const RdmadConfigNode *list, guint depth)
{
	g_string_append_c(text, '(');
	for (guint i = 0; i < list->children->len; i++) {
		const RdmadConfigNode *entry = g_ptr_array_index(list->children, i);

		g_string_append(text, i ? ", " : " ");
		print_value(text, entry, depth);
	}
	g_string_append(text, list->children->len ? " )" : ")");
}

static void print_value(GString *text, const RdmadConfigNode *node, guint depth)
{
	switch (node->kind) {
	case RDMAD_CONFIG_KIND_BOOL:
		g_string_append(text, node->integer ? "true" : "false");
		break;
	case RDMAD_CONFIG_KIND_INT:
		print_int(text, node->integer);
		break;
	case RDMAD_CONFIG_KIND_FLOAT:
		print_float(text, node->real);
		break;
	case RDMAD_CONFIG_KIND_STRING:
		print_string(text, node->string);
		break;
	case RDMAD_CONFIG_KIND_GROUP:
		print_group(text, node, depth);
		break;
	case RDMAD_CONFIG_KIND_LIST:
		print_list(text, node, depth);
		break;
	case RDMAD_CONFIG_KIND_NOTHING: /* only in YAML, which is not printed */
		break;
	}
}

char *rdmad_config_print(const RdmadConfig *config)
{
	GString *text = g_string_new(NULL);

	print_settings(text, rdmad_config_root(config), 0);
	return g_string_free(text, FALSE);
}
