/* SPDX-License-Identifier: Apache-2.0 */
#include "pods.h"

#include <rdmad/error.h>
#include <rdmad/pod-metadata.h>
#include <string.h>

#include "object.h"

struct KubePods {
	KubeClient *client;
	RdmadPodProvider *provider;
	GQueue asked; /* Question */
	guint answered, failed;
};

typedef struct {
	KubePods *pods;
	RdmadPodQuery *query;
	KubeCall *call;
	GList node;
} Question;

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

static void question_answer(Question *question, GHashTable *annotations, const GError *error)
{
	RdmadPodQuery *query = question->query;

	if (error)
		question->pods->failed++;
	else
		question->pods->answered++;
	g_queue_unlink(&question->pods->asked, &question->node);
	kube_call_cancel(question->call);
	g_free(question);
	rdmad_pod_query_answer(query, annotations, error);
}

/* A pod of a StatefulSet keeps its name when it is made again.  On its node a static pod has a UID that its
 * mirror here has as an annotation. */
static gboolean pod_check(const Question *question, const json_t *pod, GHashTable *annotations,
			  GError **error)
{
	const char *wanted = rdmad_pod_query_uid(question->query);
	const char *uid = kube_object_text(pod, "uid");

	if (!wanted || g_strcmp0(uid, wanted) == 0 ||
	    g_strcmp0(g_hash_table_lookup(annotations, "kubernetes.io/config.hash"), wanted) == 0)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
		    "the pod %s/%s is another one, of the UID %.64s",
		    rdmad_pod_query_namespace(question->query),
		    rdmad_pod_query_name(question->query), uid ? uid : "none");
	return FALSE;
}

static void pod_got(const KubeResult *result, gpointer data)
{
	Question *question = data;
	g_autoptr(GHashTable) annotations = NULL;
	g_autoptr(GError) error = NULL;

	question->call = NULL;
	if (result->error) {
		question_answer(question, NULL, result->error);
		return;
	}
	annotations = kube_object_map(result->object, "annotations");
	if (!pod_check(question, result->object, annotations, &error))
		g_clear_pointer(&annotations, g_hash_table_unref);
	question_answer(question, annotations, error);
}

static const KubeCallClass get_class = { .verb = "get", .method = "GET", .done = pod_got };

static void pod_asked(RdmadPodQuery *query, gpointer data)
{
	KubePods *pods = data;
	g_autofree char *path =
		kube_pod_path(rdmad_pod_query_namespace(query), rdmad_pod_query_name(query));
	Question *question;

	if (!path) {
		g_autoptr(GError) error =
			g_error_new(RDMAD_ERROR, RDMAD_ERROR_INVALID, "not a pod name");

		rdmad_pod_query_answer(query, NULL, error);
		return;
	}
	question = g_new0(Question, 1);
	question->pods = pods;
	question->query = query;
	question->node.data = question;
	g_queue_push_tail_link(&pods->asked, &question->node);
	question->call = kube_client_call(pods->client, &get_class, path, NULL, question);
}

KubePods *kube_pods_new(RdmadModule *self, KubeClient *client, GError **error)
{
	KubePods *pods = g_new0(KubePods, 1);

	pods->client = client;
	g_queue_init(&pods->asked);
	pods->provider = rdmad_pod_metadata_provide(rdmad_module_pod_metadata(self), self,
						    pod_asked, pods, error);
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
	while (pods->asked.head)
		question_answer(pods->asked.head->data, NULL, error);
	rdmad_pod_provider_free(pods->provider);
	g_free(pods);
}

json_t *kube_pods_status(const KubePods *pods)
{
	return json_pack("{s:i, s:i, s:i}", "asking", (int)pods->asked.length, "answered",
			 (int)pods->answered, "failed", (int)pods->failed);
}
