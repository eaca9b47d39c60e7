/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl.h"

#include <jansson.h>
#include <rdmad/http.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "view-allocations.h"
#include "write.h"

#define PATH	    "/api/v1/nccl"
#define CONTAINERS  PATH "/containers"
#define QUERIES_MAX 64u
#define DEADLINE_MS 10000

struct NcclApi {
	RdmadModule *self;
	const NcclContainers *containers;
	NcclSettings *const *settings;
	GPtrArray *queries; /* of Query */
};

static const RdmadCommandOption OPTIONS[] = {
	{ "allocation", "ID", "the settings of its container; without it those for the host" },
	{ "netns", RDMAD_COMMAND_NETNS, "those of a network namespace, /run/netns/NAME" },
	{ "pid", "PID", "those of the network namespace of a process" },
	{ "nccl-version", "V", "2.27; any: right for every version, where that can be" },
	{ "format", "F", "sh (default), conf, json" },
	{ "explain", NULL, "every port and GID, used or not, with the reason" },
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

/* Sets `warning` as nccl_versions_parse() does. */
static gboolean request_versions(const RdmadHttpRequest *request, const NcclSettings *settings,
				 NcclVersions *versions, char **warning, GError **error)
{
	const char *text = rdmad_http_request_query(request, "nccl-version");

	if (text)
		return nccl_versions_parse(text, versions, warning, error);
	*versions = settings->versions;
	*warning = g_strdup(settings->version_warning);
	return TRUE;
}

/* Returns NULL for an unknown format. */
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

/* A refusal is an error for a request of settings, but a regular response with `explain`. */
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

static void answer(NcclApi *api, RdmadHttpRequest *request, const NcclView *view,
		   const NcclPlanLabel *label)
{
	const NcclSettings *settings = *api->settings;
	g_autoptr(NcclPlan) plan = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *warning = NULL;
	NcclVersions versions;

	if (!request_versions(request, settings, &versions, &warning, &error)) {
		rdmad_http_fail(request, 400, "%s", error->message);
		return;
	}
	plan = nccl_plan_new(view, versions, &settings->policy);
	if (warning)
		nccl_plan_warn(plan, "%s", warning);
	reply(request, view, &settings->policy, plan, label);
}

/* ---- namespaces, read on a worker ---- */

typedef struct {
	NcclApi *api;
	RdmadHttpRequest *request;
	gboolean own; /* rdmad's own namespace */
	RdmadJob *job;
} Query;

typedef struct {
	const RdmadSysroot *root;
	char *pid, *netns; /* one of them */
} QueryInput;

static void query_input_free(gpointer data)
{
	QueryInput *input = data;

	g_free(input->pid);
	g_free(input->netns);
	g_free(input);
}

static gpointer query_run(gpointer data, const RdmadJob *job, GError **error)
{
	const QueryInput *input = data;

	return input->pid ? nccl_network_read(input->root, input->pid, error)
			  : nccl_network_read_netns(input->root, input->netns, error);
}

static void query_free(gpointer data)
{
	Query *query = data;

	rdmad_job_cancel(query->job);
	g_free(query);
}

static guint query_status(const GError *error)
{
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return 404;
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT))
		return 503;
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID) ? 400 : 500;
}

/* A recorded machine has no namespaces, so the response uses its devices only. */
static gboolean query_is_of_recorded_machine(const Query *query, const GError *error)
{
	return query->own && !rdmad_sysroot_is_live(rdmad_module_sysroot(query->api->self)) &&
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void query_done(gpointer result, const GError *error, gpointer data)
{
	static const NcclPlanLabel label = { NULL, 0 };
	Query *query = data;
	NcclApi *api = query->api;
	RdmadHttpRequest *request = query->request;
	NcclNetwork *network = result;
	g_autoptr(NcclView) view = NULL;
	const gboolean is_recorded = !network && query_is_of_recorded_machine(query, error);

	query->job = NULL;
	g_ptr_array_remove_fast(api->queries, query);
	if (!network && !is_recorded) {
		rdmad_http_fail(request, query_status(error), "%s", error->message);
		return;
	}
	view = nccl_view_of_node(rdmad_module_inventory(api->self));
	if (network) {
		nccl_view_set_network(view, g_steal_pointer(&network->addresses),
				      g_steal_pointer(&network->default_netdevs));
		nccl_network_free(network);
	}
	answer(api, request, view, &label);
}

static void query_closed(gpointer data)
{
	Query *query = data;

	g_ptr_array_remove_fast(query->api->queries, query);
}

static void query_start(NcclApi *api, RdmadHttpRequest *request, const char *pid, const char *netns)
{
	static const RdmadJobClass klass = {
		.name = "nccl-network",
		.run = query_run,
		.done = query_done,
		.free_input = query_input_free,
		.free_result = (GDestroyNotify)nccl_network_free,
	};
	QueryInput *input = g_new0(QueryInput, 1);
	Query *query = g_new0(Query, 1);
	g_autoptr(GError) error = NULL;

	*input = (QueryInput){ rdmad_module_sysroot(api->self),
			       g_strdup(pid || netns ? pid : "self"), g_strdup(netns) };
	*query = (Query){ api, request, !pid && !netns, NULL };
	query->job = rdmad_work_submit(rdmad_module_workers(api->self), api->self, &klass, input,
				       DEADLINE_MS, query, &error);
	if (!query->job) {
		g_free(query);
		rdmad_http_fail(request, 503, "%s", error->message);
		return;
	}
	g_ptr_array_add(api->queries, query);
	rdmad_http_request_on_gone(request, query_closed, query);
}

static void on_query(NcclApi *api, RdmadHttpRequest *request, const char *pid, const char *netns)
{
	const gboolean is_number =
		pid && *pid && strlen(pid) <= 10 && pid[strspn(pid, "0123456789")] == '\0';

	if (pid && netns)
		rdmad_http_fail(request, 400, "either a process or a network namespace");
	else if (pid && !is_number)
		rdmad_http_fail(request, 400, "\"%s\" is not a process", pid);
	else if (netns && netns[0] != '/')
		rdmad_http_fail(request, 400, "\"%s\" is not an absolute path", netns);
	else if (api->queries->len >= QUERIES_MAX)
		rdmad_http_fail(request, 503, "too many requests at once");
	else
		query_start(api, request, pid, netns);
}

/* ---- containers ---- */

static json_t *container_json(const NcclContainer *container)
{
	const RdmadAllocation *named = nccl_container_named(container);
	const NcclPlan *plan = container->plan;
	json_t *ids = json_array();

	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];

		json_array_append_new(ids, json_string(allocation->id));
	}
	return json_pack("{s:s?, s:s?, s:s?, s:o, s:I, s:b, s:s?, s:o}", "namespace",
			 named ? named->pod_namespace : NULL, "pod", named ? named->pod_name : NULL,
			 "container", named ? named->container : NULL, "allocations", ids,
			 "generation", (json_int_t)container->generation, "refused",
			 plan->refusal != NCCL_REFUSAL_NONE, "reason", plan->reason, "env",
			 nccl_write_env_json(plan->env));
}

static void get_containers(RdmadHttpRequest *request, gpointer data)
{
	const NcclApi *api = data;
	const NcclContainer *container;
	json_t *list = json_array();
	GTreeNode *at = NULL;

	while (nccl_containers_next(api->containers, &at, &container))
		if (container->plan)
			json_array_append_new(list, container_json(container));
	rdmad_http_reply_json(request, json_pack("{s:o}", "containers", list));
}

/* ---- routes ---- */

static void on_allocation(NcclApi *api, RdmadHttpRequest *request, const char *id)
{
	const NcclContainer *container = nccl_containers_holding(api->containers, id);
	const NcclPlanLabel label = { id, container ? container->generation : 0 };

	if (container && container->view)
		answer(api, request, container->view, &label);
	else
		rdmad_http_fail(request, 404,
				"no allocation %s; `rdmad allocations -o wide` lists all", id);
}

static void on_get(RdmadHttpRequest *request, gpointer data)
{
	NcclApi *api = data;
	const char *id = rdmad_http_request_query(request, "allocation");
	const char *pid = rdmad_http_request_query(request, "pid");
	const char *netns = rdmad_http_request_query(request, "netns");

	if (id && (pid || netns))
		rdmad_http_fail(request, 400, "either an allocation or a network namespace");
	else if (id)
		on_allocation(api, request, id);
	else
		on_query(api, request, pid, netns);
}

NcclApi *nccl_api_new(RdmadModule *self, const NcclContainers *containers,
		      NcclSettings *const *settings, GError **error)
{
	NcclApi *api = g_new0(NcclApi, 1);

	*api = (NcclApi){ self, containers, settings, g_ptr_array_new_with_free_func(query_free) };
	if (rdmad_http_route(rdmad_module_http(self), self, "GET", PATH, RDMAD_HTTP_LOCAL, on_get,
			     api, error) &&
	    rdmad_http_route(rdmad_module_http(self), self, "GET", CONTAINERS,
			     RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC, get_containers, api, error))
		return api;
	rdmad_http_unroute(rdmad_module_http(self), "GET", PATH);
	g_ptr_array_unref(api->queries);
	g_free(api);
	return NULL;
}

void nccl_api_free(NcclApi *api)
{
	for (guint i = 0; i < api->queries->len; i++)
		rdmad_http_fail(((Query *)api->queries->pdata[i])->request, 503, "the module ends");
	g_ptr_array_unref(api->queries);
	rdmad_http_unroute(rdmad_module_http(api->self), "GET", CONTAINERS);
	rdmad_http_unroute(rdmad_module_http(api->self), "GET", PATH);
	g_free(api);
}
