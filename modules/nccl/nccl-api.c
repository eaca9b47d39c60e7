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

static gboolean request_versions(const RdmadHttpRequest *request, const NcclSettings *settings,
				 NcclVersions *versions, GError **error)
{
	const char *text = rdmad_http_request_query(request, "version");
	g_autofree char *warning = NULL;

	*versions = settings->versions;
	return !text || nccl_versions_parse(text, versions, &warning, error);
}

static void reply_json(RdmadHttpRequest *request, json_t *json, guint status)
{
	char *text = json_dumps(json, JSON_INDENT(2));

	rdmad_http_reply(request, status, "application/json", text, strlen(text));
	free(text);
	json_decref(json);
}

/* A refusal is an answer, told apart by the status alone. */
static void reply(RdmadHttpRequest *request, const NcclView *view, const NcclPolicy *policy,
		  const NcclPlan *plan, const NcclPlanLabel *label)
{
	const char *format = rdmad_http_request_query(request, "format");
	const guint status = plan->refusal ? 409 : 200;
	char *text;

	if (!format || g_str_equal(format, "json")) {
		reply_json(request, nccl_write_json(view, policy, plan, label), status);
		return;
	}
	if (g_str_equal(format, "sh")) {
		text = nccl_write_sh(plan, label);
	} else if (g_str_equal(format, "conf")) {
		text = nccl_write_conf(plan, label);
	} else if (g_str_equal(format, "explain")) {
		text = nccl_write_explanation(view, policy, plan);
	} else {
		rdmad_http_fail(request, 400, "format must be json, sh, conf or explain");
		return;
	}
	rdmad_http_reply_take(request, status, "text/plain; charset=utf-8", text, strlen(text));
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
		rdmad_http_fail(request, 404, "there is no allocation %s", id);
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
