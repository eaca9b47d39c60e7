/* SPDX-License-Identifier: Apache-2.0 */
#include "pods.h"

#include <rdmad/error.h>
#include <rdmad/pod-metadata.h>
#include <string.h>

#include "object.h"

struct KubePods {
	KubeClient *client;
	RdmadPodProvider *provider;
	GQueue requests; /* of Request */
	guint succeeded, failed;
};

typedef struct {
	KubePods *pods;
	RdmadPodQuery *query;
	KubeCall *call;
	GList node;
} Request;

static gboolean name_is_plain(const char *name)
{
	return *name && strlen(name) <= 253 && *name != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name);
}

char *kube_pod_path(const char *pod_namespace, const char *pod_name)
{
	if (!name_is_plain(pod_namespace) || !name_is_plain(pod_name))
		return NULL;
	return g_strdup_printf("/api/v1/namespaces/%s/pods/%s", pod_namespace, pod_name);
}

static void request_answer(Request *request, GHashTable *annotations, const GError *error)
{
	RdmadPodQuery *query = request->query;

	if (error)
		request->pods->failed++;
	else
		request->pods->succeeded++;
	g_queue_unlink(&request->pods->requests, &request->node);
	kube_call_cancel(request->call);
	g_free(request);
	rdmad_pod_query_answer(query, annotations, error);
}

/* A recreated pod of a StatefulSet has the same name, so the UID is compared.  On its node a static
 * pod has the UID that its mirror pod in the API has as an annotation. */
static gboolean pod_check(const Request *request, const json_t *pod, GHashTable *annotations,
			  GError **error)
{
	const char *wanted = rdmad_pod_query_uid(request->query);
	const char *uid = kube_object_text(pod, "uid");

	if (!wanted || g_strcmp0(uid, wanted) == 0 ||
	    g_strcmp0(g_hash_table_lookup(annotations, "kubernetes.io/config.hash"), wanted) == 0)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
		    "the pod %s/%s is another one, of the UID %.64s",
		    rdmad_pod_query_namespace(request->query), rdmad_pod_query_name(request->query),
		    uid ? uid : "none");
	return FALSE;
}

static void get_done(const KubeResult *result, gpointer data)
{
	Request *request = data;
	g_autoptr(GHashTable) annotations = NULL;
	g_autoptr(GError) error = NULL;

	request->call = NULL;
	if (result->error) {
		request_answer(request, NULL, result->error);
		return;
	}
	annotations = kube_object_map(result->object, "annotations");
	if (!pod_check(request, result->object, annotations, &error))
		g_clear_pointer(&annotations, g_hash_table_unref);
	request_answer(request, annotations, error);
}

static const KubeCallClass get_class = { .verb = "get", .method = "GET", .done = get_done };

static void pod_requested(RdmadPodQuery *query, gpointer data)
{
	KubePods *pods = data;
	g_autofree char *path =
		kube_pod_path(rdmad_pod_query_namespace(query), rdmad_pod_query_name(query));
	Request *request;

	if (!path) {
		g_autoptr(GError) error =
			g_error_new(RDMAD_ERROR, RDMAD_ERROR_INVALID, "not a pod name");

		rdmad_pod_query_answer(query, NULL, error);
		return;
	}
	request = g_new0(Request, 1);
	request->pods = pods;
	request->query = query;
	request->node.data = request;
	g_queue_push_tail_link(&pods->requests, &request->node);
	request->call = kube_client_call(pods->client, &get_class, path, NULL, request);
}

KubePods *kube_pods_new(RdmadModule *self, KubeClient *client, GError **error)
{
	KubePods *pods = g_new0(KubePods, 1);

	pods->client = client;
	g_queue_init(&pods->requests);
	pods->provider = rdmad_pod_metadata_provide(rdmad_module_pod_metadata(self), self,
						    pod_requested, pods, error);
	if (!pods->provider)
		g_clear_pointer(&pods, g_free);
	return pods;
}

void kube_pods_free(KubePods *pods)
{
	g_autoptr(GError) error = NULL;

	if (!pods)
		return;
	error = g_error_new(RDMAD_ERROR, RDMAD_ERROR_CANCELLED, "the module kube ends");
	while (pods->requests.head)
		request_answer(pods->requests.head->data, NULL, error);
	rdmad_pod_provider_free(pods->provider);
	g_free(pods);
}

json_t *kube_pods_status(const KubePods *pods)
{
	return json_pack("{s:i, s:i, s:i}", "waiting", (int)pods->requests.length, "succeeded",
			 (int)pods->succeeded, "failed", (int)pods->failed);
}
