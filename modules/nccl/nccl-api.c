/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl-api.h"

#include <jansson.h>
#include <rdmad/http.h>
#include <rdmad/inventory.h>
#include <stdlib.h>
#include <string.h>

#include "view-allocations.h"
#include "write.h"

#define PATH "/api/v1/nccl"

struct NcclApi {
	RdmadModule *self;
	const NcclContainers *containers;
	NcclSettings *const *settings;
};

static const RdmadCommandOption OPTIONS[] = {
	{ "allocation", "ID", "the settings of its container; without it those for the host" },
	{ "nccl-version", "V", "2.27; any: right for every version, where that can be" },
	{ "format", "F", "sh (default), conf, json" },
	{ "explain", NULL, "every port and GID, taken or not, and why" },
	{ NULL, NULL, NULL },
};

const RdmadCommand NCCL_COMMANDS[] = {
	{
		.name = "nccl-env",
		.summary = "the settings of NCCL that are right for a container",
		.path = PATH,
		.options = OPTIONS,
	},
	{ .name = NULL },
};

static gboolean request_versions(const RdmadHttpRequest *request, const NcclSettings *settings,
				 NcclVersions *versions, GError **error)
{
	const char *text = rdmad_http_request_query(request, "nccl-version");
	g_autofree char *warning = NULL;

	*versions = settings->versions;
	return !text || nccl_versions_parse(text, versions, &warning, error);
}

/* NULL: no such format. */
static char *request_text(const RdmadHttpRequest *request, const NcclView *view,
			  const NcclPolicy *policy, const NcclPlan *plan,
			  const NcclPlanLabel *label)
{
	const char *format = rdmad_http_request_query(request, "format");

	if (rdmad_http_request_query(request, "explain"))
		return nccl_write_explanation(view, policy, plan);
	if (!format || g_str_equal(format, "sh"))
		return nccl_write_sh(plan, label);
	if (g_str_equal(format, "conf"))
		return nccl_write_conf(plan, label);
	if (g_str_equal(format, "json"))
		return nccl_write_json_text(view, policy, plan, label);
	return NULL;
}

/* A refusal is an error for whoever asked for settings, and an answer for whoever asked why. */
static void reply(RdmadHttpRequest *request, const NcclView *view, const NcclPolicy *policy,
		  const NcclPlan *plan, const NcclPlanLabel *label)
{
	g_autofree char *text = request_text(request, view, policy, plan, label);
	const gboolean refused = plan->refusal && !rdmad_http_request_query(request, "explain");
	json_t *answer;
	char *dumped;

	if (!text) {
		rdmad_http_fail(request, 400, "format must be sh, conf or json");
		return;
	}
	answer = json_pack("{s:s, s:o}", "text", text, "plan",
			   nccl_write_json(view, policy, plan, label));
	if (refused)
		json_object_set_new(answer, "error", json_string(plan->reason));
	dumped = json_dumps(answer, JSON_INDENT(2));
	rdmad_http_reply(request, refused ? 409 : 200, "application/json", dumped, strlen(dumped));
	free(dumped);
	json_decref(answer);
}

static void on_get(RdmadHttpRequest *request, gpointer data)
{
	const NcclApi *api = data;
	const NcclSettings *settings = *api->settings;
	const char *id = rdmad_http_request_query(request, "allocation");
	const NcclContainer *container = id ? nccl_containers_holding(api->containers, id) : NULL;
	const NcclPlanLabel label = { id, container ? container->generation : 0 };
	g_autoptr(NcclView) node = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(NcclPlan) plan = NULL;
	NcclVersions versions;

	if (!request_versions(request, settings, &versions, &error)) {
		rdmad_http_fail(request, 400, "%s", error->message);
		return;
	}
	if (id && (!container || !container->view)) {
		rdmad_http_fail(request, 404, "no allocation %s", id);
		return;
	}
	if (!id)
		node = nccl_view_of_node(rdmad_module_inventory(api->self));
	plan = nccl_plan_new(node ? node : container->view, versions, &settings->policy);
	reply(request, node ? node : container->view, &settings->policy, plan, &label);
}

NcclApi *nccl_api_new(RdmadModule *self, const NcclContainers *containers,
		      NcclSettings *const *settings, GError **error)
{
	NcclApi *api = g_new0(NcclApi, 1);

	*api = (NcclApi){ self, containers, settings };
	if (rdmad_http_route(rdmad_module_http(self), self, "GET", PATH, RDMAD_HTTP_LOCAL, on_get,
			     api, error))
		return api;
	g_free(api);
	return NULL;
}

void nccl_api_free(NcclApi *api)
{
	rdmad_http_unroute(rdmad_module_http(api->self), "GET", PATH);
	g_free(api);
}
