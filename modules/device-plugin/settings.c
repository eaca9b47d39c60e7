/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <rdmad/error.h>
#include <string.h>

#include "allocate/env.h"
#include "resource-name.h"
#include "selector/assignment.h"

static gboolean overlap_check(const GPtrArray *resources, const RdmadConfigNode *list,
			      GError **error);

#define NOT_SET		   (-1)
#define DEFAULT_NAME	   "rdma/hca"
#define DEFAULT_COUNT	   1000
#define DEFAULT_MULTI	   16
#define ATTRIBUTE_NAME_MAX 253
#define SHARED_WITH_MAX	   64
#define MINUTE_MS	   60000
#define SOCKET_PREFIX_MAX  24u

const char *const resource_modes[] = { "shared", "exclusive", "shared-multi", NULL };
static const char *const COUNT_PERS[] = { "pool", "device", NULL };
static const char *const EXPOSES[] = { "device", "pool", NULL };
static const char *const CDI_USES[] = { "off", "on", NULL };
static const char *const IDS[] = { "stable", "name", NULL };
static const char *const REGISTRATIONS[] = { "auto", "legacy", "registry", NULL };

/* ---- one resource ---- */

ResourceSettings *resource_settings_ref(ResourceSettings *settings)
{
	settings->refs++;
	return settings;
}

void resource_settings_unref(ResourceSettings *settings)
{
	if (--settings->refs)
		return;
	selector_clear(&settings->selector);
	g_strfreev(settings->shared_with);
	g_free(settings->name);
	g_free(settings->mode_from);
	g_free(settings->permissions);
	g_free(settings);
}

static ResourceSettings *resource_settings_new(void)
{
	ResourceSettings *settings = g_new0(ResourceSettings, 1);

	settings->refs = 1;
	settings->numa = TRUE;
	settings->multi_count = DEFAULT_MULTI;
	settings->permissions = g_strdup("rw");
	return settings;
}

static gboolean permissions_check(const char *text, GError **error)
{
	if (text[0] && text[strspn(text, "rwm")] == '\0' && strlen(text) <= 3)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\": device permissions are of the letters r, w and m", text);
	return FALSE;
}

/* Accepts only names with a source as prefix: others are never set. */
static gboolean mode_from_check(const char *text, GError **error)
{
	const char *colon = strchr(text, ':');

	if (colon && colon != text && colon[1])
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" is not an attribute of a node; for a label it is \"label:%s\"", text,
		    text);
	return FALSE;
}

static const RdmadConfigField RESOURCE_FIELDS[] = {
	{ .key = "name",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ResourceSettings, name),
	  .required = TRUE,
	  .check = resource_name_check },
	RDMAD_CONFIG_ENUM_FIELD("mode", ResourceSettings, mode, resource_modes),
	{ .key = "mode_from",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ResourceSettings, mode_from),
	  .min = 1,
	  .max = ATTRIBUTE_NAME_MAX,
	  .check = mode_from_check },
	RDMAD_CONFIG_INT_FIELD("count", ResourceSettings, count, 1, RESOURCE_SLOTS_MAX),
	RDMAD_CONFIG_ENUM_FIELD("count_per", ResourceSettings, count_per, COUNT_PERS),
	RDMAD_CONFIG_BOOL_FIELD("ignore_health", ResourceSettings, ignore_health),
	RDMAD_CONFIG_INT_FIELD("multi_count", ResourceSettings, multi_count, 1, RESOURCE_SLOTS_MAX),
	RDMAD_CONFIG_ENUM_FIELD("expose", ResourceSettings, expose, EXPOSES),
	RDMAD_CONFIG_ENUM_FIELD("ids", ResourceSettings, ids, IDS),
	RDMAD_CONFIG_BOOL_FIELD("numa", ResourceSettings, numa),
	RDMAD_CONFIG_BOOL_FIELD("busy_pfs", ResourceSettings, busy_pfs),
	{ .key = "shared_with",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(ResourceSettings, shared_with),
	  .max = SHARED_WITH_MAX },
	RDMAD_CONFIG_GROUPS_FIELD("selectors", ResourceSettings, selectors),
	RDMAD_CONFIG_BOOL_FIELD("umad", ResourceSettings, umad),
	RDMAD_CONFIG_BOOL_FIELD("issm", ResourceSettings, issm),
	RDMAD_CONFIG_BOOL_FIELD("ucm", ResourceSettings, ucm),
	RDMAD_CONFIG_ENUM_FIELD("cdi", ResourceSettings, cdi, CDI_USES),
	{ .key = "permissions",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ResourceSettings, permissions),
	  .check = permissions_check },
	RDMAD_CONFIG_BOOL_FIELD("nccl_hca", ResourceSettings, nccl_hca),
	RDMAD_CONFIG_BOOL_FIELD("smcr_pnet", ResourceSettings, smcr_pnet),
	RDMAD_CONFIG_BOOL_FIELD("host_network_only", ResourceSettings, host_network_only),
	RDMAD_CONFIG_GROUP_FIELD("rdma_limits", ResourceSettings, rdma_limits),
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField LIMIT_FIELDS[] = {
	RDMAD_CONFIG_INT_FIELD("hca_handle", RdmaLimits, hca_handle, 1, G_MAXINT32),
	RDMAD_CONFIG_INT_FIELD("hca_object", RdmaLimits, hca_object, 1, G_MAXINT32),
	RDMAD_CONFIG_FIELDS_END,
};

/* Checks of several fields together. */
static gboolean resource_finish(const RdmadConfigNode *node, ResourceSettings *settings,
				GError **error)
{
	const gboolean always = settings->mode_from == NULL;

	if (always && settings->mode == MODE_EXCLUSIVE && settings->count)
		return rdmad_config_error(node, "count", error,
					  "an exclusive resource has one slot a device; count is "
					  "for mode = \"shared\"");
	if (always && settings->mode == MODE_SHARED_MULTI && settings->count)
		return rdmad_config_error(node, "count", error,
					  "is for mode = \"shared\"; shared-multi has multi_count");
	if (always && settings->mode == MODE_EXCLUSIVE && settings->shared_with)
		return rdmad_config_error(node, "shared_with", error,
					  "an exclusive resource shares its devices with no other");
	if (settings->cdi == CDI_ON && strcmp(settings->permissions, "rw"))
		return rdmad_config_error(node, "permissions", error,
					  "by way of CDI they are \"rw\"; leave them out, or set "
					  "cdi = \"off\"");
	if (!settings->count)
		settings->count = DEFAULT_COUNT;
	return TRUE;
}

/* Keys that define a resource have no defaults. */
static gboolean has_default(const RdmadConfigField *field)
{
	static const char *const own[] = { "name",  "mode",	   "mode_from",
					   "count", "shared_with", "selectors" };

	for (guint i = 0; i < G_N_ELEMENTS(own); i++)
		if (g_str_equal(field->key, own[i]))
			return FALSE;
	return TRUE;
}

/* `defaults` of the module, for every resource without a value of its own. */
static gboolean defaults_parse(const RdmadConfigNode *defaults, ResourceSettings *settings,
			       GError **error)
{
	RdmadConfigField fields[G_N_ELEMENTS(RESOURCE_FIELDS)] = { 0 };
	guint n = 0;

	for (const RdmadConfigField *field = RESOURCE_FIELDS; field->key; field++)
		if (has_default(field))
			fields[n++] = *field;
	return rdmad_config_parse(defaults, fields, settings, error);
}

static gboolean limits_parse(ResourceSettings *settings, GError **error)
{
	const RdmadConfigNode *node = settings->rdma_limits;

	settings->rdma_limits = NULL;
	return rdmad_config_parse(node, LIMIT_FIELDS, &settings->limits, error);
}

/* `expose` of `defaults` is for the resources that know it. */
static gboolean own_parse(const RdmadConfigNode *node, ResourceSettings *settings, GError **error)
{
	const int inherited = settings->expose;
	gboolean good;

	settings->expose = NOT_SET;
	good = rdmad_config_parse(node, RESOURCE_FIELDS, settings, error);
	if (settings->expose == EXPOSE_POOL && settings->mode == MODE_EXCLUSIVE &&
	    !settings->mode_from)
		good &= rdmad_config_error(node, "expose", error,
					   "an exclusive device is of one container alone; "
					   "\"pool\" is for the other modes");
	if (settings->expose == NOT_SET)
		settings->expose = inherited;
	return good;
}

static ResourceSettings *resource_parse(const RdmadConfigNode *defaults,
					const RdmadConfigNode *node, GError **error)
{
	g_autoptr(ResourceSettings) settings = resource_settings_new();
	gboolean good = defaults_parse(defaults, settings, error);

	good &= own_parse(node, settings, error);
	good &= selector_parse(settings->selectors, &settings->selector, error);
	good &= limits_parse(settings, error);
	if (!good || !resource_finish(node, settings, error))
		return NULL;
	settings->selectors = NULL;
	return g_steal_pointer(&settings);
}

static ResourceSettings *resource_default(const RdmadConfigNode *defaults, GError **error)
{
	g_autoptr(ResourceSettings) settings = resource_settings_new();

	if (!defaults_parse(defaults, settings, error) || !limits_parse(settings, error))
		return NULL;
	settings->name = g_strdup(DEFAULT_NAME);
	settings->count = DEFAULT_COUNT;
	/* A machine without one of the other two is no reason for a warning. */
	selector_set(&settings->selector, SELECT_LINK_LAYERS,
		     (const char *const[]){ "!unknown", NULL });
	return g_steal_pointer(&settings);
}

/* ---- the module ---- */

static gboolean directory_check(const char *text, GError **error)
{
	if (text[0] == '/' || text[0] == '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" must be an absolute path, or empty for no files at all", text);
	return FALSE;
}

static gboolean socket_prefix_check(const char *text, GError **error)
{
	const gsize plain = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (plain > 0 && text[plain] == '\0' && plain <= SOCKET_PREFIX_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\": a socket prefix has 1 to %u lower-case letters, digits and \"-\"",
		    text, SOCKET_PREFIX_MAX);
	return FALSE;
}

static gboolean cri_socket_check(const char *text, GError **error)
{
	if (text[0] == '/' || g_str_equal(text, "auto"))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\": the path of the container runtime's socket, or \"auto\"", text);
	return FALSE;
}

static const RdmadConfigField PLUGIN_FIELDS[] = {
	RDMAD_CONFIG_GROUP_FIELD("defaults", PluginSettings, defaults),
	RDMAD_CONFIG_LIST_FIELD("resources", PluginSettings, resource_list),
	RDMAD_CONFIG_ENUM_FIELD("registration", PluginSettings, registration, REGISTRATIONS),
	{ .key = "socket_prefix",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(PluginSettings, socket_prefix),
	  .check = socket_prefix_check },
	{ .key = "device_info_dir",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(PluginSettings, device_info_dir),
	  .check = directory_check },
	{ .key = "cdi_dir",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(PluginSettings, cdi_dir),
	  .check = directory_check },
	RDMAD_CONFIG_DURATION_FIELD("health_delay", PluginSettings, health_delay_ms, 0,
				    10 * MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("forget_delay", PluginSettings, forget_delay_ms, 0,
				    24 * 60 * MINUTE_MS),
	RDMAD_CONFIG_BOOL_FIELD("prestart", PluginSettings, prestart),
	{ .key = "cri_socket",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(PluginSettings, cri_socket),
	  .check = cri_socket_check },
	RDMAD_CONFIG_FIELDS_END,
};

static PluginSettings *plugin_settings_new(void)
{
	PluginSettings *settings = g_new0(PluginSettings, 1);

	settings->socket_prefix = g_strdup("rdmad");
	settings->cri_socket = g_strdup("auto");
	settings->health_delay_ms = 1000;
	settings->forget_delay_ms = MINUTE_MS;
	settings->resources =
		g_ptr_array_new_with_free_func((GDestroyNotify)resource_settings_unref);
	return settings;
}

void plugin_settings_free(PluginSettings *settings)
{
	g_ptr_array_unref(settings->resources);
	g_free(settings->socket_prefix);
	g_free(settings->device_info_dir);
	g_free(settings->cdi_dir);
	g_free(settings->cri_socket);
	g_free(settings);
}

/* The names must also differ as environment variables. */
static gboolean name_check(const GPtrArray *resources, const RdmadConfigNode *node,
			   const char *name, GError **error)
{
	for (guint i = 0; i < resources->len; i++) {
		const char *other = ((ResourceSettings *)resources->pdata[i])->name;

		if (g_str_equal(other, name))
			return rdmad_config_error(
				node, "name", error,
				"\"%s\" is there already: two resources need two names", name);
		if (device_env_clash(other, name))
			return rdmad_config_error(
				node, "name", error,
				"\"%s\" and \"%s\" would give containers one environment variable; "
				"give one of them a name that differs in more than punctuation",
				other, name);
	}
	return TRUE;
}

static gboolean resources_parse(PluginSettings *settings, GError **error)
{
	gboolean good = TRUE;

	for (guint i = 0; i < rdmad_config_length(settings->resource_list); i++) {
		const RdmadConfigNode *node = rdmad_config_entry(settings->resource_list, i);
		g_autoptr(ResourceSettings) resource =
			resource_parse(settings->defaults, node, error);

		if (resource && name_check(settings->resources, node, resource->name, error))
			g_ptr_array_add(settings->resources, g_steal_pointer(&resource));
		else
			good = FALSE;
	}
	return good;
}

static gboolean resources_take_default(PluginSettings *settings, GError **error)
{
	ResourceSettings *resource = resource_default(settings->defaults, error);

	if (resource)
		g_ptr_array_add(settings->resources, resource);
	return resource != NULL;
}

/* Kubelet keeps only one of two values, and no file overrides the environment. */
static gboolean hca_check(const PluginSettings *settings, const RdmadConfigNode *config,
			  GError **error)
{
	for (guint i = 0; i < settings->resources->len; i++) {
		const ResourceSettings *resource = settings->resources->pdata[i];

		if (resource->nccl_hca && settings->resources->len > 1)
			return rdmad_config_error(config, "resources", error,
						  "nccl_hca is for a single resource: a container "
						  "with two would have the devices of one");
		if (resource->nccl_hca && resource->mode == MODE_SHARED_MULTI)
			return rdmad_config_error(config, "resources", error,
						  "nccl_hca is not for shared-multi, whose devices "
						  "are made later");
	}
	return TRUE;
}

PluginSettings *plugin_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(PluginSettings) settings = plugin_settings_new();
	gboolean good = rdmad_config_parse(config, PLUGIN_FIELDS, settings, error);

	good &= resources_parse(settings, error);
	if (!good || !overlap_check(settings->resources, settings->resource_list, error))
		return NULL;
	if (!settings->resource_list && !resources_take_default(settings, error))
		return NULL;
	if (settings->resources->len == 0) {
		rdmad_config_error(config, "resources", error,
				   "the list is empty; leave it out for the default, rdma/hca");
		return NULL;
	}
	if (!hca_check(settings, config, error))
		return NULL;
	settings->resource_list = settings->defaults = NULL;
	return g_steal_pointer(&settings);
}

/* ---- overlap: resources that would have the same devices, judged by the configuration alone
 * ---- */

static gboolean is_other(const GPtrArray *resources, const ResourceSettings *resource,
			 const char *name)
{
	for (guint i = 0; i < resources->len; i++) {
		const ResourceSettings *other = resources->pdata[i];

		if (other != resource && g_str_equal(other->name, name))
			return TRUE;
	}
	return FALSE;
}

static gboolean shared_with_check(const GPtrArray *resources, guint index,
				  const RdmadConfigNode *node, GError **error)
{
	const ResourceSettings *resource = resources->pdata[index];

	for (char **name = resource->shared_with; name && *name; name++)
		if (!is_other(resources, resource, *name))
			return rdmad_config_error(node, "shared_with", error,
						  "\"%s\" is not another resource of this file",
						  *name);
	return TRUE;
}

static gboolean selectors_check(const GPtrArray *resources, guint index,
				const RdmadConfigNode *node, GError **error)
{
	const ResourceSettings *resource = resources->pdata[index];

	for (guint i = 0; i < index; i++) {
		const ResourceSettings *other = resources->pdata[i];

		if (selector_equal(&resource->selector, &other->selector) &&
		    !assignment_may_share(resource, other))
			return rdmad_config_error(
				node, NULL, error,
				"%s and %s select the same devices; shared_with = \"%s\" lets both "
				"have them, unless one is exclusive",
				resource->name, other->name, other->name);
	}
	return TRUE;
}

/* `list` has the nodes of `resources`, for the error; may be NULL.  RDMAD_ERROR_CONFIG. */
static gboolean overlap_check(const GPtrArray *resources, const RdmadConfigNode *list,
			      GError **error)
{
	for (guint i = 0; i < resources->len; i++) {
		const RdmadConfigNode *node = rdmad_config_entry(list, i);

		if (!shared_with_check(resources, i, node, error) ||
		    !selectors_check(resources, i, node, error))
			return FALSE;
	}
	return TRUE;
}
