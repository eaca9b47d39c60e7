/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: slots for waiting pods, one Allocate at a time. */
#include "clock.h"
#include "deviceplugin.pb-c.h"
#include "kubelet.h"

static struct {
	const KubeletOps *ops;
	Decisions *decisions;
	char *uid; /* of the pod whose container is admitted, or NULL */
	const Endpoint *endpoint;
	gboolean is_allocating; /* Allocate is pending; before it, GetPreferredAllocation is */
	gint64 asked_us;
	guint wanted;
	/* Slots that may be taken: those of the init container, and free ones. */
	GPtrArray *again, *free;
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

/* Returns whether there are enough.  `first`: number of the free slot with which the list
 * begins. */
static gboolean slots_offer(const Pod *pod, guint wanted, guint first)
{
	const GPtrArray *slots = kubelet_list(pod->resource);
	const guint n = slots->len;

	g_ptr_array_set_size(admission.again, 0);
	g_ptr_array_set_size(admission.free, 0);
	for (guint i = 0; pod->init && pod->init->slots[i] && i < wanted; i++)
		g_ptr_array_add(admission.again, g_strdup(pod->init->slots[i]));
	for (guint i = 0; i < n; i++) {
		const ListedSlot *slot = slots->pdata[(first + i) % n];

		if (slot->healthy && !slot_is_used(pod->resource, slot->slot))
			g_ptr_array_add(admission.free, g_strdup(slot->slot));
	}
	admission.wanted = wanted;
	return admission.again->len + admission.free->len >= wanted;
}

static gboolean is_among(GPtrArray *slots, const char *slot)
{
	return g_ptr_array_find_with_equal_func(slots, slot, g_str_equal, NULL);
}

static void slot_take(GPtrArray *chosen, char *slot)
{
	if (chosen->len < admission.wanted && !is_among(chosen, slot))
		g_ptr_array_add(chosen, slot);
}

/* Takes those of the init container first, then the free ones that the plugin prefers, then
 * others. */
static GStrv slots_choose(char *const *preferred, gsize n_preferred)
{
	g_autoptr(GPtrArray) chosen = g_ptr_array_new();

	for (guint i = 0; i < admission.again->len; i++)
		slot_take(chosen, admission.again->pdata[i]);
	for (gsize i = 0; i < n_preferred; i++)
		if (is_among(admission.free, preferred[i]))
			slot_take(chosen, preferred[i]);
	for (guint i = 0; i < admission.free->len; i++)
		slot_take(chosen, admission.free->pdata[i]);
	g_ptr_array_add(chosen, NULL);
	return g_strdupv((char **)chosen->pdata);
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
	admission.is_allocating = FALSE;
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

static void pod_stop_short(Pod *pod, const char *why)
{
	admission.ops->answered(pod, NULL, why, 0);
	pod_refuse(pod);
	kubelet_sync_pods();
}

static gboolean pod_admit(Pod *pod, const Endpoint *endpoint);

static void pod_go_on(Pod *pod)
{
	const Endpoint *endpoint = kubelet_endpoint_find(pod->resource);

	if (pod->grant)
		pod_begin(pod);
	else if (!endpoint || !pod_admit(pod, endpoint))
		pod_stop_short(pod, "not enough for the second container");
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

static void allocate_ask(void)
{
	static const RdmadGrpcRequestOps ops = { allocate_came, allocate_done };
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	g_autofree guint8 *bytes = NULL;

	container.n_devices_ids = g_strv_length(admission.asked);
	container.devices_ids = admission.asked;
	request.n_container_requests = 1;
	request.container_requests = containers;
	bytes = g_malloc(v1beta1__allocate_request__get_packed_size(&request));
	admission.asked_us = clock_now_us();
	admission.is_allocating = TRUE;
	rdmad_grpc_channel_call(kubelet_endpoint_channel(admission.endpoint),
				"/v1beta1.DevicePlugin/Allocate", bytes,
				v1beta1__allocate_request__pack(&request, bytes), 0, &ops, NULL);
}

static void preferred_came(const guint8 *bytes, gsize size, gpointer data)
{
	V1beta1__PreferredAllocationResponse *answer =
		v1beta1__preferred_allocation_response__unpack(NULL, size, bytes);
	const V1beta1__ContainerPreferredAllocationResponse *container;

	g_assert_nonnull(answer);
	g_assert_cmpuint(answer->n_container_responses, ==, 1);
	container = answer->container_responses[0];
	admission.asked = slots_choose(container->deviceids, container->n_deviceids);
	v1beta1__preferred_allocation_response__free_unpacked(answer, NULL);
}

static void preferred_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	if (status == RDMAD_GRPC_OK && admission.asked)
		allocate_ask();
	else
		allocate_done(RDMAD_GRPC_UNKNOWN, text, NULL);
}

static void preferred_ask(void)
{
	static const RdmadGrpcRequestOps ops = { preferred_came, preferred_done };
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[] = { &container };
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	g_autoptr(GPtrArray) available = g_ptr_array_new();
	g_autofree guint8 *bytes = NULL;

	for (guint i = 0; i < admission.free->len; i++)
		g_ptr_array_add(available, admission.free->pdata[i]);
	for (guint i = 0; i < admission.again->len; i++)
		g_ptr_array_add(available, admission.again->pdata[i]);
	container.n_available_deviceids = available->len;
	container.available_deviceids = (char **)available->pdata;
	container.n_must_include_deviceids = admission.again->len;
	container.must_include_deviceids = (char **)admission.again->pdata;
	container.allocation_size = (gint32)admission.wanted;
	request.n_container_requests = 1;
	request.container_requests = containers;
	bytes = g_malloc(v1beta1__preferred_allocation_request__get_packed_size(&request));
	rdmad_grpc_channel_call(kubelet_endpoint_channel(admission.endpoint),
				"/v1beta1.DevicePlugin/GetPreferredAllocation", bytes,
				v1beta1__preferred_allocation_request__pack(&request, bytes), 0,
				&ops, NULL);
}

/*
 * FALSE: there are not so many slots.  A topology manager with a policy takes the slots of a NUMA
 * node without a call, as if `first` had been chosen here.
 */
static gboolean pod_admit(Pod *pod, const Endpoint *endpoint)
{
	const gboolean is_init = grant_to_come(pod) == &pod->init;
	const guint n = kubelet_list(pod->resource)->len;
	const guint first = n > 1 ? decide_rarely(admission.decisions, DECIDE_WHICH, 2, n) : 0;

	if (!slots_offer(pod, is_init ? pod->init_wanted : pod->wanted, first))
		return FALSE;
	admission.uid = g_strdup(pod->uid);
	admission.asked_us = clock_now_us();
	admission.endpoint = endpoint;
	pod->state = POD_ADMITTING;
	if (!first && admission.again->len < admission.wanted &&
	    kubelet_endpoint_prefers(endpoint)) {
		preferred_ask();
		return TRUE;
	}
	admission.asked = slots_choose(NULL, 0);
	allocate_ask();
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

/* A pod with devices is bound to this node: kubelet goes on with its admission, or rejects it, at
 * once. Others wait for the scheduler, or for a container that starts again. */
static void pod_try(Pod *pod)
{
	const Endpoint *endpoint = kubelet_endpoint_find(pod->resource);
	const gboolean is_bound = (pod->is_bound || pod->init) && !pod->has_sandbox;

	if (endpoint)
		grants_reclaim();
	if (endpoint ? !pod_admit(pod, endpoint) && (pod->init || is_bound) : is_bound)
		pod_stop_short(pod, "not enough slots");
}

void kubelet_admit_pods(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len && !admission.uid; i++)
		if (((const Pod *)pods->pdata[i])->state == POD_WAITING)
			pod_try(pods->pdata[i]);
}

static gboolean runs_whole(const Pod *pod)
{
	return pod->state == POD_RUNNING && !pod->init;
}

void kubelet_admission_start(const KubeletEra *era)
{
	const GPtrArray *pods = pods_all();

	for (guint i = pods->len; i-- > 0 && era->readmits;) {
		Pod *pod = pods->pdata[i];

		if (pod->grant && pod->state != POD_ENDED && !runs_whole(pod))
			pod_stop_short(pod, "no plugin is registered");
	}
}

gboolean kubelet_is_admitting(void)
{
	return admission.is_allocating;
}

void kubelet_admission_lose(const Endpoint *endpoint)
{
	if (admission.endpoint != endpoint)
		return;
	if (admission.is_allocating)
		admission.ops->given_up();
	allocate_done(RDMAD_GRPC_CANCELLED, "the connection is closed", NULL);
}

void kubelet_admission_begin(const KubeletOps *ops, Decisions *decisions)
{
	admission.ops = ops;
	admission.decisions = decisions;
	admission.again = admission.again ?: g_ptr_array_new_with_free_func(g_free);
	admission.free = admission.free ?: g_ptr_array_new_with_free_func(g_free);
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
		pod->may_be_readmitted |= forgets;
		if (pod->state == POD_STARTING && !pod->grant)
			pod->state = POD_WAITING;
	}
}
