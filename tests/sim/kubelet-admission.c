/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: slots for waiting pods, one Allocate at a time. */
#include "clock.h"
#include "deviceplugin.pb-c.h"
#include "kubelet.h"

static struct {
	const KubeletOps *ops;
	Decisions *decisions;
	char *uid; /* of the pod whose Allocate is pending, or NULL */
	const Endpoint *endpoint;
	gint64 asked_us;
	GStrv asked;	   /* the requested slots */
	const Grant *came; /* the response */
} admission;

static gboolean has_slot(const Grant *grant, const char *slot)
{
	return grant && g_strv_contains((const char *const *)grant->slots, slot);
}

static gboolean slot_is_used(const char *resource, const char *slot)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if ((pod->grant || pod->init) && g_str_equal(pod->resource, resource) &&
		    (has_slot(pod->grant, slot) || has_slot(pod->init, slot)))
			return TRUE;
	}
	return FALSE;
}

/* Chooses those of the init container first.  Returns NULL if there are not enough slots. */
static GStrv slots_choose(const Pod *pod, guint wanted)
{
	g_autofree char **chosen = g_new0(char *, wanted + 1);
	const GPtrArray *slots = kubelet_list(pod->resource);
	const guint n = slots->len;
	const guint first = n > 1 ? decide_rarely(admission.decisions, DECIDE_WHICH, 2, n) : 0;
	guint found = 0;

	for (; pod->init && pod->init->slots[found] && found < wanted; found++)
		chosen[found] = pod->init->slots[found];
	for (guint i = 0; i < n && found < wanted; i++) {
		const ListedSlot *slot = slots->pdata[(first + i) % n];

		if (!slot->healthy || slot_is_used(pod->resource, slot->slot))
			continue;
		chosen[found++] = slot->slot;
	}
	return found == wanted ? g_strdupv(chosen) : NULL;
}

static Grant *grant_of(const guint8 *bytes, gsize size)
{
	V1beta1__AllocateResponse *answer = v1beta1__allocate_response__unpack(NULL, size, bytes);
	const V1beta1__ContainerAllocateResponse *container;
	Grant *grant = NULL;

	g_assert_nonnull(answer);
	g_assert_cmpuint(answer->n_container_responses, ==, 1);
	container = answer->container_responses[0];
	for (gsize i = 0; i < container->n_mounts; i++)
		if (g_str_equal(container->mounts[i]->container_path, "/run/rdmad"))
			grant = grant_new((const char *const *)admission.asked,
					  container->mounts[i]->host_path);
	g_assert_nonnull(grant);
	v1beta1__allocate_response__free_unpacked(answer, NULL);
	return grant;
}

/* Whose Allocate is next: of an init container that runs or has run kubelet asks for none. */
static Grant **grant_to_come(Pod *pod)
{
	const gboolean is_init = pod->init_wanted && !pod->init && !pod->has_sandbox;

	return is_init ? &pod->init : &pod->grant;
}

static void allocate_came(const guint8 *bytes, gsize size, gpointer data)
{
	Pod *pod = pods_find(admission.uid);
	Grant **grant = grant_to_come(pod);

	grant_free(*grant);
	admission.came = *grant = grant_of(bytes, size);
	pod->since_us = clock_now_us();
}

static void admission_end(void)
{
	g_clear_pointer(&admission.uid, g_free);
	g_clear_pointer(&admission.asked, g_strfreev);
	admission.endpoint = NULL;
	admission.came = NULL;
}

/* UnexpectedAdmissionError; what runs of it is ended. */
static void pod_refuse(Pod *pod)
{
	if (pod->has_sandbox)
		pod_exit(pod);
	pods_delete(pod);
}

static void pod_stop_short(Pod *pod)
{
	admission.ops->answered(pod, NULL, "not enough for the second container", 0);
	pod_refuse(pod);
}

static gboolean pod_admit(Pod *pod, const Endpoint *endpoint);

static void pod_go_on(Pod *pod)
{
	const Endpoint *endpoint = kubelet_endpoint_find(pod->resource);

	if (pod->grant)
		pod_begin(pod);
	else if (!endpoint || !pod_admit(pod, endpoint))
		pod_stop_short(pod);
}

static void allocate_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Pod *pod = pods_find(admission.uid);
	const Grant *grant = status == RDMAD_GRPC_OK ? admission.came : NULL;

	admission.ops->answered(pod, grant,
				grant  ? NULL
				: text ? text
				       : "no grant",
				clock_now_us() - admission.asked_us);
	admission_end();
	if (grant)
		pod_go_on(pod);
	else
		pod_refuse(pod);
	kubelet_sync_pods();
}

/* FALSE: there are not so many slots. */
static gboolean pod_admit(Pod *pod, const Endpoint *endpoint)
{
	static const RdmadGrpcRequestOps ops = { allocate_came, allocate_done };
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	const gboolean is_init = grant_to_come(pod) == &pod->init;
	g_autofree guint8 *bytes = NULL;

	admission.asked = slots_choose(pod, is_init ? pod->init_wanted : pod->wanted);
	if (!admission.asked)
		return FALSE;
	container.n_devices_ids = g_strv_length(admission.asked);
	container.devices_ids = admission.asked;
	request.n_container_requests = 1;
	request.container_requests = containers;
	bytes = g_malloc(v1beta1__allocate_request__get_packed_size(&request));
	admission.uid = g_strdup(pod->uid);
	admission.asked_us = clock_now_us();
	admission.endpoint = endpoint;
	pod->state = POD_ADMITTING;
	rdmad_grpc_channel_call(kubelet_endpoint_channel(endpoint),
				"/v1beta1.DevicePlugin/Allocate", bytes,
				v1beta1__allocate_request__pack(&request, bytes), 0, &ops, NULL);
	return TRUE;
}

/* Frees the slots of ended pods, as kubelet does when another pod is admitted. */
static void grants_reclaim(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state != POD_ENDED)
			continue;
		g_clear_pointer(&pod->grant, grant_free);
		g_clear_pointer(&pod->init, grant_free);
	}
}

/* A pod with devices is bound to this node: kubelet goes on with its admission, or rejects it, at once.
 * Others wait for the scheduler. */
static void pod_try(Pod *pod, const Endpoint *endpoint)
{
	if (pod_admit(pod, endpoint) || !pod->init)
		return;
	pod_stop_short(pod);
	kubelet_sync_pods();
}

void kubelet_admit_pods(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len && !admission.uid; i++) {
		Pod *pod = pods->pdata[i];
		const Endpoint *endpoint =
			pod->state == POD_WAITING ? kubelet_endpoint_find(pod->resource) : NULL;

		if (!endpoint)
			continue;
		grants_reclaim();
		pod_try(pod, endpoint);
	}
}

gboolean kubelet_is_admitting(void)
{
	return admission.uid != NULL;
}

void kubelet_admission_lose(const Endpoint *endpoint)
{
	if (admission.endpoint != endpoint)
		return;
	admission.ops->given_up();
	allocate_done(RDMAD_GRPC_CANCELLED, "the connection is closed", NULL);
}

void kubelet_admission_begin(const KubeletOps *ops, Decisions *decisions)
{
	admission.ops = ops;
	admission.decisions = decisions;
}

void kubelet_admission_stop(gboolean forgets)
{
	const GPtrArray *pods = pods_all();

	admission_end();
	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state == POD_ADMITTING)
			pod->state = POD_WAITING;
		if (pod->state == POD_WAITING || forgets)
			g_clear_pointer(&pod->grant, grant_free);
		if (forgets)
			g_clear_pointer(&pod->init, grant_free);
		if (pod->state == POD_STARTING && !pod->grant)
			pod->state = POD_WAITING;
	}
}
