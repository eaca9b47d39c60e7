/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules to run
 *
 *	modules = {
 *		NAME = {
 *			enabled = true;		false: as if the group were not there
 *			optional = false;	true: rdmad goes on when the module does not start
 *			...			the module's own
 *		};
 *	};
 *
 * Without --module: those that have a group, in the order of the file.  With it: those that it
 * names, in its order, `enabled` or not.  The two keys above are the core's; the module does not
 * see them.
 */
#include "daemon/settings-modules.h"

#include <rdmad/error.h>
#include <string.h>

#define MODULES_MAX 64u

typedef struct {
	gboolean enabled, optional;
} ModuleKeys;

static const RdmadConfigField module_fields[] = {
	RDMAD_CONFIG_BOOL_FIELD("enabled", ModuleKeys, enabled),
	RDMAD_CONFIG_BOOL_FIELD("optional", ModuleKeys, optional),
	RDMAD_CONFIG_FIELDS_END,
};

static RdmadModuleEntry *module_entry_new(const char *name)
{
	RdmadModuleEntry *entry = g_new0(RdmadModuleEntry, 1);

	entry->name = g_strdup(name);
	return entry;
}

static void module_entry_free(RdmadModuleEntry *entry)
{
	g_free(entry->name);
	g_free(entry);
}

static gboolean is_named(const RdmadOptions *options, const char *name)
{
	return options->modules && g_strv_contains((const char *const *)options->modules, name);
}

/* Reads disabled groups too, so that they are checked. */
static gboolean settings_read_module(RdmadSettings *settings, const RdmadConfigNode *modules,
				     const char *name, const RdmadOptions *options, GError **error)
{
	const RdmadConfigField group[] = { { .key = name, .type = RDMAD_CONFIG_GROUP },
					   RDMAD_CONFIG_FIELDS_END };
	ModuleKeys keys = { .enabled = TRUE };
	RdmadConfigNode *node = NULL;
	RdmadModuleEntry *entry;

	if (!rdmad_module_name_valid(name))
		return rdmad_config_error(modules, name, error,
					  "not a module name: it has 1 to 32 of a-z, 0-9 and -");
	if (!rdmad_config_parse_shared(modules, group, &node, error) ||
	    !rdmad_config_parse_shared(node, module_fields, &keys, error))
		return FALSE;
	if (options->modules ? !is_named(options, name) : !keys.enabled)
		return TRUE;
	entry = module_entry_new(name);
	entry->optional = keys.optional;
	entry->config = node;
	g_ptr_array_add(settings->modules, entry);
	return TRUE;
}

static RdmadModuleEntry *settings_find_module(const RdmadSettings *settings, const char *name)
{
	for (guint i = 0; i < settings->modules->len; i++) {
		RdmadModuleEntry *entry = g_ptr_array_index(settings->modules, i);

		if (!strcmp(entry->name, name))
			return entry;
	}
	return NULL;
}

/* Brings the modules into the order of the command line; those without a group get an entry. */
static void settings_order_modules(RdmadSettings *settings, char *const *names)
{
	g_autoptr(GPtrArray) ordered =
		g_ptr_array_new_with_free_func((GDestroyNotify)module_entry_free);

	for (; *names; names++) {
		RdmadModuleEntry *entry = settings_find_module(settings, *names);
		guint index;

		if (entry && g_ptr_array_find(settings->modules, entry, &index))
			g_ptr_array_steal_index(settings->modules, index);
		else
			entry = module_entry_new(*names);
		g_ptr_array_add(ordered, entry);
	}
	g_ptr_array_unref(settings->modules);
	settings->modules = g_steal_pointer(&ordered);
}

static gboolean settings_have_modules(const RdmadSettings *settings, GError **error)
{
	if (settings->modules->len)
		return TRUE;
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		"no module to run: name some in `modules = { device-plugin = { }; };` of %s, or "
		"give --module NAME",
		settings->path ?: "a configuration file");
	return FALSE;
}

gboolean rdmad_settings_read_modules(RdmadSettings *settings, const RdmadConfigNode *node,
				     const RdmadOptions *options, GError **error)
{
	g_auto(GStrv) names = node ? rdmad_config_keys(node) : NULL;
	gboolean good = TRUE;

	settings->modules = g_ptr_array_new_with_free_func((GDestroyNotify)module_entry_free);
	if (names && g_strv_length(names) > MODULES_MAX)
		return rdmad_config_error(node, NULL, error, "more than %u modules", MODULES_MAX);
	for (char **name = names; name && *name; name++)
		good &= settings_read_module(settings, node, *name, options, error);
	if (!good)
		return FALSE;
	if (options->modules)
		settings_order_modules(settings, options->modules);
	/* --print-config works without modules, to print a file while it is written. */
	return options->action == RDMAD_ACTION_PRINT_CONFIG || (error && *error) ||
	       settings_have_modules(settings, error);
}
