/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/cri.h"

#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/grpc.h>
#include <rdmad/json.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/stat.h>

#include "cri.pb-c.h"
#include "kubelet/unpack.h"

/* ---- messages ---- */

#define INFO_DEPTH 32

static gboolean is_of_pod(const Runtime__V1__PodSandbox *sandbox, const char *pod_namespace,
			  const char *pod_name)
{
	return sandbox->metadata && *sandbox->id &&
	       sandbox->state == RUNTIME__V1__POD_SANDBOX_STATE__SANDBOX_READY &&
	       g_str_equal(sandbox->metadata->name, pod_name) &&
	       g_str_equal(sandbox->metadata->namespace_, pod_namespace);
}

gboolean cri_answer_sandbox(const guint8 *message, gsize size, const char *pod_namespace,
			    const char *pod_name, char **id, char **pod_uid, GError **error)
{
	g_autoptr(Unpacked) unpacked =
		unpack(&runtime__v1__list_pod_sandbox_response__descriptor, message, size, error);
	const Runtime__V1__ListPodSandboxResponse *response;
	const Runtime__V1__PodSandbox *newest = NULL;

	if (!unpacked)
		return FALSE;
	response = unpacked_message(unpacked);
	for (size_t i = 0; i < response->n_items; i++) {
		const Runtime__V1__PodSandbox *one = response->items[i];

		if (is_of_pod(one, pod_namespace, pod_name) &&
		    (!newest || one->created_at > newest->created_at))
			newest = one;
	}
	if (!newest) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "it has no sandbox of %s/%s that is ready", pod_namespace, pod_name);
		return FALSE;
	}
	*id = g_strdup(newest->id);
	*pod_uid = g_strdup(newest->metadata->uid);
	return TRUE;
}

static CriNetwork network_of(const Runtime__V1__PodSandboxStatus *status)
{
	const Runtime__V1__LinuxPodSandboxStatus *os = status ? status->linux_status : NULL;

	if (!os || !os->namespaces || !os->namespaces->options)
		return CRI_NETWORK_UNKNOWN;
	return os->namespaces->options->network == RUNTIME__V1__NAMESPACE_MODE__NODE
		       ? CRI_NETWORK_HOST
		       : CRI_NETWORK_POD;
}

static char *netns_of_json(const json_t *info)
{
	const json_t *os = json_object_get(json_object_get(info, "runtimeSpec"), "linux");
	const json_int_t pid = json_integer_value(json_object_get(info, "pid"));
	char number[24];
	const json_t *entry;
	gsize i;

	json_array_foreach(json_object_get(os, "namespaces"), i, entry)
	{
		const char *path = json_string_value(json_object_get(entry, "path"));

		if (g_strcmp0(json_string_value(json_object_get(entry, "type")), "network") == 0 &&
		    path && *path == '/')
			return g_strdup(path);
	}
	if (pid <= 0)
		return NULL;
	g_snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, pid);
	return g_build_filename("/proc", number, "ns", "net", NULL);
}

/* containerd and CRI-O put the OCI specification of the sandbox into the entry "info". */
static char *netns_of(const Runtime__V1__PodSandboxStatusResponse *response)
{
	char *netns = NULL;

	for (size_t i = 0; i < response->n_info && !netns; i++) {
		const char *text = response->info[i]->value;
		json_t *info = g_str_equal(response->info[i]->key, "info")
				       ? rdmad_json_parse(text, strlen(text), INFO_DEPTH, NULL)
				       : NULL;

		netns = netns_of_json(info);
		json_decref(info);
	}
	return netns;
}

void cri_sandbox_clear(CriSandbox *sandbox)
{
	g_clear_pointer(&sandbox->pod_uid, g_free);
	g_clear_pointer(&sandbox->netns, g_free);
	g_clear_pointer(&sandbox->annotations, g_hash_table_unref);
}

gboolean cri_answer_status(const guint8 *message, gsize size, CriSandbox *sandbox, GError **error)
{
	g_autoptr(Unpacked) unpacked =
		unpack(&runtime__v1__pod_sandbox_status_response__descriptor, message, size, error);
	const Runtime__V1__PodSandboxStatusResponse *response;
	const Runtime__V1__PodSandboxStatus *status;

	if (!unpacked)
		return FALSE;
	response = unpacked_message(unpacked);
	status = response->status;
	sandbox->network = network_of(status);
	g_free(sandbox->netns);
	sandbox->netns = netns_of(response);
	g_clear_pointer(&sandbox->annotations, g_hash_table_unref);
	sandbox->annotations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (size_t i = 0; status && i < status->n_annotations; i++)
		g_hash_table_replace(sandbox->annotations, g_strdup(status->annotations[i]->key),
				     g_strdup(status->annotations[i]->value));
	return TRUE;
}

/* ---- queries ---- */

#define SERVICE	    "/runtime.v1.RuntimeService/"
#define DEADLINE_MS 3000
#define MESSAGE_MAX (4u << 20)

struct CriQuery {
	RdmadGrpcChannel *channel;
	char *socket_path, *pod_namespace, *pod_name;
	char *sandbox_id;
	CriSandbox sandbox;
	GError *error; /* of the response to the running call */
	gboolean answered;
	RdmadEvent *finish; /* a channel must not be freed by its own callback */
	CriFunc fn;
	gpointer data;
};

char *cri_socket(const char *configured)
{
	static const char *const known[] = {
		"/run/containerd/containerd.sock",
		"/run/crio/crio.sock",
		"/run/k3s/containerd/containerd.sock",
		"/run/cri-dockerd.sock",
	};
	struct stat info;

	if (!g_str_equal(configured, "auto"))
		return g_strdup(configured);
	for (guint i = 0; i < G_N_ELEMENTS(known); i++)
		if (stat(known[i], &info) == 0 && S_ISSOCK(info.st_mode))
			return g_strdup(known[i]);
	return NULL;
}

/* ---- the end ---- */

static void query_free(CriQuery *query)
{
	rdmad_grpc_channel_free(query->channel);
	rdmad_event_free(query->finish);
	g_clear_error(&query->error);
	g_free(query->socket_path);
	g_free(query->pod_namespace);
	g_free(query->pod_name);
	g_free(query->sandbox_id);
	cri_sandbox_clear(&query->sandbox);
	g_free(query);
}

void cri_query_cancel(CriQuery *query)
{
	if (query)
		query_free(query);
}

static void query_finish(gpointer user)
{
	CriQuery *query = user;
	const CriFunc fn = query->fn;
	const gpointer data = query->data;
	CriSandbox sandbox = query->sandbox;
	g_autoptr(GError) error = g_steal_pointer(&query->error);

	query->sandbox = (CriSandbox){ 0 };
	query_free(query);
	fn(error ? NULL : &sandbox, error, data);
	cri_sandbox_clear(&sandbox);
}

static void query_fail(CriQuery *query, RdmadGrpcStatus status, const char *text)
{
	if (!query->error)
		g_set_error_literal(&query->error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
				    text && *text ? text : rdmad_grpc_status_name(status));
	g_prefix_error(&query->error, "the container runtime at %s: ", query->socket_path);
	rdmad_event_arm(query->finish, 0);
}

/* ---- calls ---- */

static void query_call(CriQuery *query, const char *method, const ProtobufCMessage *request,
		       const RdmadGrpcRequestOps *ops)
{
	const gsize size = protobuf_c_message_get_packed_size(request);
	g_autofree guint8 *bytes = g_malloc(size);

	protobuf_c_message_pack(request, bytes);
	query->answered = FALSE;
	rdmad_grpc_channel_call(query->channel, method, bytes, size, DEADLINE_MS, ops, query);
}

static void status_answered(const guint8 *message, gsize size, gpointer data)
{
	CriQuery *query = data;

	g_clear_error(&query->error);
	query->answered = cri_answer_status(message, size, &query->sandbox, &query->error);
}

static void status_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	CriQuery *query = data;

	if (status == RDMAD_GRPC_OK && query->answered)
		rdmad_event_arm(query->finish, 0);
	else
		query_fail(query, status, text);
}

static void status_ask(CriQuery *query)
{
	static const RdmadGrpcRequestOps ops = { status_answered, status_done };
	Runtime__V1__PodSandboxStatusRequest request =
		RUNTIME__V1__POD_SANDBOX_STATUS_REQUEST__INIT;

	request.pod_sandbox_id = query->sandbox_id;
	request.verbose = TRUE;
	query_call(query, SERVICE "PodSandboxStatus", &request.base, &ops);
}

static void list_answered(const guint8 *message, gsize size, gpointer data)
{
	CriQuery *query = data;

	g_clear_error(&query->error);
	query->answered =
		cri_answer_sandbox(message, size, query->pod_namespace, query->pod_name,
				   &query->sandbox_id, &query->sandbox.pod_uid, &query->error);
}

static void list_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	CriQuery *query = data;

	if (status == RDMAD_GRPC_OK && query->answered)
		status_ask(query);
	else
		query_fail(query, status, text);
}

static void list_ask(CriQuery *query)
{
	static const RdmadGrpcRequestOps ops = { list_answered, list_done };
	Runtime__V1__PodSandboxFilter__LabelSelectorEntry labels[2] = {
		RUNTIME__V1__POD_SANDBOX_FILTER__LABEL_SELECTOR_ENTRY__INIT,
		RUNTIME__V1__POD_SANDBOX_FILTER__LABEL_SELECTOR_ENTRY__INIT,
	};
	Runtime__V1__PodSandboxFilter__LabelSelectorEntry *selector[] = { &labels[0], &labels[1] };
	Runtime__V1__PodSandboxFilter filter = RUNTIME__V1__POD_SANDBOX_FILTER__INIT;
	Runtime__V1__ListPodSandboxRequest request = RUNTIME__V1__LIST_POD_SANDBOX_REQUEST__INIT;

	labels[0].key = (char *)"io.kubernetes.pod.namespace";
	labels[0].value = query->pod_namespace;
	labels[1].key = (char *)"io.kubernetes.pod.name";
	labels[1].value = query->pod_name;
	filter.n_label_selector = G_N_ELEMENTS(selector);
	filter.label_selector = selector;
	request.filter = &filter;
	query_call(query, SERVICE "ListPodSandbox", &request.base, &ops);
}

CriQuery *cri_query(RdmadModule *self, const char *socket_path, const char *pod_namespace,
		    const char *pod_name, CriFunc fn, gpointer data)
{
	CriQuery *query = g_new0(CriQuery, 1);

	query->socket_path = g_strdup(socket_path);
	query->pod_namespace = g_strdup(pod_namespace);
	query->pod_name = g_strdup(pod_name);
	query->fn = fn;
	query->data = data;
	query->finish = rdmad_loop_add_timer(rdmad_module_loop(self), self, query_finish, query);
	query->channel =
		rdmad_grpc_channel_new(rdmad_module_loop(self), self, socket_path, MESSAGE_MAX);
	list_ask(query);
	return query;
}
