/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACK eRDMA Controller: the values of its Helm chart, the parameters of its add-on, or its config.json
 *
 * The chart has the agent's settings in a group, the add-on beside the others, and config.json not at all: they
 * are arguments of the agent, of which source.c makes a group.
 *
 * The agent's settings become the module erdma and aliyun/erdma.  The controller itself, which makes and
 * attaches network interfaces by the cloud's API, stays as it is.
 */
#include <string.h>

#include "cli/import/field.h"

#define SLOTS	 200 /* slots per device */
#define RESOURCE "erdma"

typedef struct {
	const char *prefer_path, *exposed_path;
	const char *prefer;
	gboolean all;
	const json_t *exposed;
} Agent;

static const char BY_CONTROLLER[] = "the controller's, which stays";

static const RdmadImportField AGENT_FIELDS[] = {
	RDMAD_IMPORT_FIELD("preferDriver", RDMAD_IMPORT_TEXT, Agent, prefer),
	RDMAD_IMPORT_FIELD("allocateAllDevices", RDMAD_IMPORT_FLAG, Agent, all),
	RDMAD_IMPORT_FIELD("exposedLocalERIs", RDMAD_IMPORT_LIST, Agent, exposed),
	{ .key = "jumboFrameMTU",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "see the MTU of the NICs in rdmad-erdma(7)" },
	{ .key = NULL },
};

typedef struct {
	gboolean device_plugin;
} Controller;

/* Keys of `config`, which becomes config.json. */
static const RdmadImportField CONTROLLER_FIELDS[] = {
	RDMAD_IMPORT_FIELD("enableDevicePlugin", RDMAD_IMPORT_FLAG, Controller, device_plugin),
	{ .key = "localERIDiscovery",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "rdmad always reads the node itself" },
	{ .key = "enableWebhook",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "rdmad needs no init container for SMC-R; remove the webhook" },
	{ .key = "enableInitContainerInject",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "rdmad needs no init container for SMC-R; remove the webhook" },
	{ .key = "smcInitImage",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "rdmad needs no init container for SMC-R; remove the webhook" },
	{ .key = "manageNonOwnedENIs", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "region", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "controllerNamespace", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "controllerName", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "clusterDomain", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "certDir", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "waitNodeReadyTimeoutSeconds", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "nodeSelector", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = "credentials", .type = RDMAD_IMPORT_LOST, .lost = BY_CONTROLLER },
	{ .key = NULL },
};

static gboolean has_agent_keys(const json_t *object)
{
	return rdmad_import_get(object, "preferDriver") ||
	       rdmad_import_get(object, "allocateAllDevices");
}

gboolean rdmad_import_is_erdma(const json_t *config)
{
	return has_agent_keys(rdmad_import_get(config, "agent")) || has_agent_keys(config) ||
	       rdmad_import_get(config, "manageNonOwnedENIs") ||
	       rdmad_import_get(config, "enableDevicePlugin") ||
	       rdmad_import_get(rdmad_import_get(config, "config"), "localERIDiscovery");
}

/* Returns the resource of an earlier source, or a new one. */
static RdmadImportResource *resource_get(RdmadImport *import, GError **error)
{
	RdmadImportResource *resource;
	GArray *group;

	for (guint i = 0; i < import->resources->len; i++) {
		resource = import->resources->pdata[i];
		if (g_str_equal(resource->name, "aliyun/" RESOURCE))
			return resource;
	}
	resource = rdmad_import_resource_new("aliyun", RESOURCE, "agent");
	resource->count = SLOTS;
	resource->per_device = resource->numa = TRUE;
	group = rdmad_import_group_new();
	rdmad_import_group_add(group, "drivers", g_strsplit("erdma", " ", -1));
	g_ptr_array_add(resource->groups, group);
	return rdmad_import_add(import, resource, error) ? resource : NULL;
}

/* Parses "i-XXX erdma_0/erdma_1"; "i-*" is every instance.  Returns FALSE if the entry is for one
 * instance. */
static gboolean exposed_add(const char *entry, GPtrArray *names)
{
	g_auto(GStrv) words = g_strsplit(entry, " ", 2);
	g_auto(GStrv) devices = NULL;

	if (!words[0] || !words[1] || !g_str_equal(words[0], "i-*"))
		return FALSE;
	devices = g_strsplit(g_strstrip(words[1]), "/", -1);
	for (guint i = 0; devices[i]; i++)
		if (devices[i][0] != '\0')
			g_ptr_array_add(names, g_strdup(devices[i]));
	return TRUE;
}

static gboolean names_check(RdmadImport *import, const GPtrArray *names, const char *path,
			    GError **error)
{
	for (guint i = 0; i < names->len; i++) {
		g_autoptr(GError) wrong = NULL;
		g_autofree char *name = rdmad_import_convert_pattern(names->pdata[i], &wrong);

		if (!name)
			return rdmad_import_error(import, error, path, "%s", wrong->message);
	}
	return TRUE;
}

/* The imported configuration is for all nodes and cannot hold the entries of one instance. */
static gboolean import_exposed(RdmadImport *import, const Agent *agent,
			       RdmadImportResource *resource, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; i < json_array_size(agent->exposed); i++) {
		const char *entry = json_string_value(json_array_get(agent->exposed, i));

		if (!entry)
			return rdmad_import_error(import, error, agent->exposed_path,
						  "an entry is not text");
		if (!exposed_add(entry, names))
			rdmad_import_lose(import, agent->exposed_path,
					  "an entry for one instance: give that node a selector "
					  "`names` in a drop-in of its own");
	}
	if (!names_check(import, names, agent->exposed_path, error) || names->len == 0)
		return names->len == 0;
	rdmad_import_mind(import, agent->exposed_path, "a slot gave all devices with it");
	resource->all_devices = TRUE;
	g_ptr_array_add(names, NULL);
	rdmad_import_group_add(resource->groups->pdata[0], "names",
			       g_strdupv((char **)names->pdata));
	return TRUE;
}

/* "" means "auto": the choice depends on the GPUs if the driver is not loaded yet. */
static gboolean import_driver(RdmadImport *import, const Agent *agent, GError **error)
{
	const char *prefer = agent->prefer;
	static const char *const known[] = { "default", "compat", "ofed", NULL };

	if (prefer[0] != '\0' && !g_strv_contains(known, prefer))
		return rdmad_import_error(import, error, agent->prefer_path,
					  "\"%s\" is not one of \"default\", \"compat\", \"ofed\"",
					  prefer);
	g_free(import->erdma_driver);
	import->erdma_driver = g_strdup(prefer[0] ? prefer : "auto");
	rdmad_import_mind(import, "agent",
			  "a missing driver is not downloaded: see driver.install in "
			  "rdmad-erdma(7)");
	return TRUE;
}

/* `group` is the path of the settings, or "" if they are beside the controller's. */
static gboolean import_agent(RdmadImport *import, const char *group, const json_t *values,
			     GError **error)
{
	Agent agent = {
		.prefer_path = *group ? "agent.preferDriver" : "preferDriver",
		.exposed_path = *group ? "agent.exposedLocalERIs" : "exposedLocalERIs",
		.prefer = "",
	};
	RdmadImportResource *resource = resource_get(import, error);

	if (!resource || !rdmad_import_read(import, group, values, AGENT_FIELDS, &agent, error))
		return FALSE;
	resource->all_devices = agent.all;
	return import_exposed(import, &agent, resource, error) &&
	       import_driver(import, &agent, error);
}

static gboolean import_controller(RdmadImport *import, const char *path, const json_t *config,
				  GError **error)
{
	Controller controller = { .device_plugin = TRUE };

	if (!rdmad_import_read(import, path, config, CONTROLLER_FIELDS, &controller, error))
		return FALSE;
	if (!controller.device_plugin)
		rdmad_import_lose(import, "enableDevicePlugin",
				  "false: remove the resource below if nothing is to offer it");
	if (!import->erdma_driver) {
		import->erdma_driver = g_strdup("auto");
		rdmad_import_mind(
			import, "agent",
			"its arguments --prefer-driver and --allocate-all-devices are not "
			"here: import its DaemonSet too, or set prefer_driver and expose");
	}
	return resource_get(import, error) != NULL;
}

static gboolean is_agent_key(const char *key)
{
	for (const RdmadImportField *field = AGENT_FIELDS; field->key; field++)
		if (g_ascii_strcasecmp(field->key, key) == 0)
			return TRUE;
	return FALSE;
}

/* The settings of both are in one object. */
static gboolean import_flat(RdmadImport *import, const json_t *values, GError **error)
{
	json_auto_t *agent = json_object(), *controller = json_object();
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)values, key, value)
		json_object_set(is_agent_key(key) ? agent : controller, key, value);
	return import_agent(import, "", agent, error) &&
	       import_controller(import, "", controller, error);
}

gboolean rdmad_import_erdma(RdmadImport *import, GError **error)
{
	const json_t *values = import->source->config;
	const json_t *agent = rdmad_import_get(values, "agent");
	const json_t *config = rdmad_import_get(values, "config");

	if (!agent && !config && has_agent_keys(values))
		return import_flat(import, values, error);
	if (agent && !import_agent(import, "agent", agent, error))
		return FALSE;
	if (config)
		return import_controller(import, "config", config, error);
	return agent || import_controller(import, "", values, error);
}
