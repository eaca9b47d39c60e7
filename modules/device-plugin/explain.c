/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <rdmad/allocations.h>
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

/* Returns "held by jobs/a; its interface ens1f0v0 is in the pod", g_free(); NULL: it is free, or on
 * the host with its interfaces. */
static char *place_text(RdmadModule *self, const RdmadDevice *dev)
{
	const RdmadAllocation *holder = rdmad_allocations_find_holder(
		rdmad_module_allocations(self), dev->id, RDMAD_HOLD_ANY, NULL, NULL);
	const char *interface = rdmad_device_netdev_in_pod(dev);
	g_autofree char *what = NULL, *who = NULL;

	if (!holder)
		return NULL;
	if (rdmad_inventory_find_away(rdmad_module_inventory(self), dev->id))
		what = g_strdup("it is");
	else if (interface)
		what = g_strdup_printf("its interface %s is", interface);
	else
		return NULL;
	who = holder->pod_name ? g_strdup_printf("%s/%s", holder->pod_namespace, holder->pod_name)
			       : g_strdup("a pod that kubelet has not named");
	return g_strdup_printf("held by %s; %s in the pod", who, what);
}

typedef struct {
	const GPtrArray *resources;
	const RdmadDevice *dev;
	const char *place;
	json_t *rows;
} Rows;

/* Returns why slots of a selected device are unhealthy, or where it is, or why it is healthy and at
 * rest, or NULL. */
static const char *state_in(const Rows *rows, const char *name)
{
	const char *problem = NULL, *rest = NULL;

	for (guint i = 0; i < rows->resources->len; i++)
		if (g_str_equal(resource_name(rows->resources->pdata[i]), name))
			resource_device_health(rows->resources->pdata[i], rows->dev->id, &problem,
					       &rest);
	return problem ?: rows->place ?: rest;
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
	g_autoptr(GPtrArray) devices =
		rdmad_inventory_list_everywhere(rdmad_module_inventory(explain->self));
	g_autofree char *place = place_text(explain->self, dev);
	Rows rows = { *explain->resources, dev, place, json_array() };

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
	dev = rdmad_inventory_find_everywhere(rdmad_module_inventory(explain->self), name);
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
