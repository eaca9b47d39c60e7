/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <rdmad/http.h>
#include <rdmad/inventory.h>
#include <jansson.h>

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
};

static const RdmadDevice *device_find(RdmadInventory *inventory, const char *name)
{
	const RdmadDevice *dev = rdmad_inventory_lookup_name(inventory, name);

	return dev ? dev : rdmad_inventory_lookup(inventory, name);
}

static void add_resource(const ResourceSettings *resource, const char *refusal, gpointer data)
{
	json_array_append_new(data, json_pack("{s:s, s:b, s:s?}", "name", resource->name,
					      "selected", refusal == NULL, "reason", refusal));
}

static json_t *explanation(const Explain *explain, const RdmadDevice *dev)
{
	g_autoptr(GPtrArray) devices = assignment_devices(explain->self);
	json_t *resources = json_array();

	assignment_explain((*explain->settings)->resources, devices, dev, add_resource, resources);
	return json_pack("{s:s, s:s, s:o}", "device_id", dev->id, "device_name", dev->name,
			 "resources", resources);
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

Explain *explain_new(RdmadModule *self, PluginSettings *const *settings, GError **error)
{
	Explain *explain = g_new(Explain, 1);

	*explain = (Explain){ self, settings };
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
