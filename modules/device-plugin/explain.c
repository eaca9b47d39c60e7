/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <rdmad/http.h>
#include <rdmad/inventory.h>
#include <jansson.h>

#include "resource.h"
#include "selector/assignment.h"

#define PATH "/api/v1/explain"

static const RdmadCommandColumn columns[] = {
	{ "RESOURCE", "name" },
	{ "SELECTED", "selected" },
	{ "REASON", "reason" },
	{ NULL, NULL },
};

const RdmadCommand explain_commands[] = {
	{
		.name = "explain",
		.argument = "DEVICE",
		.parameter = "device",
		.summary = "resources that select a device, and the reasons of the others",
		.path = PATH,
		.rows = "resources",
		.columns = columns,
	},
	{ .name = NULL },
};

struct Explain {
	RdmadModule *self;
	PluginSettings *const *settings;
	GPtrArray *const *resources;
};

static const RdmadDevice *device_find(RdmadInventory *inventory, const char *name)
{
	const RdmadDevice *dev = rdmad_inventory_lookup_name(inventory, name);

	return dev ? dev : rdmad_inventory_lookup(inventory, name);
}

typedef struct {
	const GPtrArray *resources;
	const RdmadDevice *dev;
	json_t *rows;
} Rows;

/* Returns why slots of a selected device are unhealthy, or why it is healthy and at rest, or
 * NULL. */
static const char *state_in(const Rows *rows, const char *name)
{
	const char *problem = NULL, *rest = NULL;

	for (guint i = 0; i < rows->resources->len; i++)
		if (g_str_equal(resource_name(rows->resources->pdata[i]), name))
			resource_device_health(rows->resources->pdata[i], rows->dev->id, &problem,
					       &rest);
	return problem ?: rest;
}

static void add_resource(const ResourceSettings *resource, const char *refusal, gpointer data)
{
	const Rows *rows = data;

	json_array_append_new(rows->rows, json_pack("{s:s, s:b, s:s?}", "name", resource->name,
						    "selected", refusal == NULL, "reason",
						    refusal ?: state_in(rows, resource->name)));
}

static json_t *explanation(const Explain *explain, const RdmadDevice *dev)
{
	g_autoptr(GPtrArray) devices = assignment_devices(explain->self);
	Rows rows = { *explain->resources, dev, json_array() };

	assignment_explain((*explain->settings)->resources, devices, dev, add_resource, &rows);
	return json_pack("{s:s, s:s, s:o}", "device_id", dev->id, "device_name", dev->name,
			 "resources", rows.rows);
}

static void get_explain(RdmadHttpRequest *request, gpointer data)
{
	const Explain *explain = data;
	const char *name = rdmad_http_request_query(request, "device");
	const RdmadDevice *dev;

	if (!name) {
		rdmad_http_fail(request, 400, "which device? \"device\" is missing");
		return;
	}
	dev = device_find(rdmad_module_inventory(explain->self), name);
	if (dev)
		rdmad_http_reply_json(request, explanation(explain, dev));
	else
		rdmad_http_fail(request, 404, "no RDMA device \"%s\"; `rdmad devices` lists all",
				name);
}

Explain *explain_new(RdmadModule *self, PluginSettings *const *settings,
		     GPtrArray *const *resources, GError **error)
{
	Explain *explain = g_new(Explain, 1);

	*explain = (Explain){ self, settings, resources };
	if (rdmad_http_route(rdmad_module_http(self), self, "GET", PATH, RDMAD_HTTP_LOCAL,
			     get_explain, explain, error))
		return explain;
	g_free(explain);
	return NULL;
}

void explain_free(Explain *explain)
{
	rdmad_http_unroute(rdmad_module_http(explain->self), "GET", PATH);
	g_free(explain);
}
