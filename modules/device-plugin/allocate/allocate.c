/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocate.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

#include "allocate/answer.h"
#include "deviceplugin.pb-c.h"
#include "kubelet/unpack.h"

#define CONTAINERS_MAX 64u

typedef struct {
	const Allocator *by;
	const Pool *pool;
	const V1beta1__AllocateRequest *request;
	GPtrArray *granted; /* an allocation for each container, in order */
} AllocateCall;

/* ---- checks ---- */

static gboolean slot_check(const AllocateCall *call, const char *id, GHashTable *seen,
			   GError **error)
{
	const char *resource = pool_settings(call->pool)->name;
	const Slot *slot = pool_find(call->pool, id);

	if (!slot)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "%s: no device \"%.63s\"",
			    resource, id);
	else if (!g_hash_table_add(seen, slot->id))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: device \"%s\" is requested twice", resource, id);
	else if (slot->device->health.problem)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "%s: device \"%s\" is unhealthy: %s", resource, id,
			    slot->device->health.problem);
	else
		return TRUE;
	return FALSE;
}

static gboolean container_check(const AllocateCall *call,
				const V1beta1__ContainerAllocateRequest *container,
				GHashTable *seen, GError **error)
{
	if (container->n_devices_ids == 0 ||
	    container->n_devices_ids > RDMAD_ALLOCATION_MAX_SLOTS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: %zu devices for one container; 1 to %u can be had",
			    pool_settings(call->pool)->name, container->n_devices_ids,
			    RDMAD_ALLOCATION_MAX_SLOTS);
		return FALSE;
	}
	for (size_t i = 0; i < container->n_devices_ids; i++)
		if (!slot_check(call, container->devices_ids[i], seen, error))
			return FALSE;
	return TRUE;
}

static gboolean request_check(const AllocateCall *call, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	const V1beta1__AllocateRequest *request = call->request;

	if (request->n_container_requests == 0 || request->n_container_requests > CONTAINERS_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: %zu containers in one request; 1 to %u can be served",
			    pool_settings(call->pool)->name, request->n_container_requests,
			    CONTAINERS_MAX);
		return FALSE;
	}
	for (size_t i = 0; i < request->n_container_requests; i++)
		if (!container_check(call, request->container_requests[i], seen, error))
			return FALSE;
	return TRUE;
}

/* ---- allocations ---- */

/* The request of one container; its ids were checked. */
typedef struct {
	RdmadGrant grant;
	const char **slots, **devices;
} ContainerGrant;

static void container_grant_init(ContainerGrant *wanted, const AllocateCall *call,
				 const V1beta1__ContainerAllocateRequest *container)
{
	const ResourceSettings *settings = pool_settings(call->pool);
	const size_t n = container->n_devices_ids;

	wanted->slots = g_new0(const char *, n + 1);
	wanted->devices = g_new0(const char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		const Slot *slot = pool_find(call->pool, container->devices_ids[i]);

		wanted->slots[i] = slot->id;
		wanted->devices[i] = slot->device->id;
	}
	wanted->grant = (RdmadGrant){
		.owner = call->by->owner,
		.resource = settings->name,
		.slots = wanted->slots,
		.devices = wanted->devices,
		.mode = resource_modes[settings->mode],
		.asked_us = call->by->asked_us,
	};
}

static void container_grant_clear(ContainerGrant *wanted)
{
	g_free(wanted->slots);
	g_free(wanted->devices);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ContainerGrant, container_grant_clear)

static gboolean container_grant(AllocateCall *call,
				const V1beta1__ContainerAllocateRequest *container, GError **error)
{
	g_auto(ContainerGrant) wanted = { 0 };
	const RdmadAllocation *allocation;

	container_grant_init(&wanted, call, container);
	allocation = rdmad_allocations_grant(call->by->allocations, &wanted.grant, error);
	if (!allocation)
		return FALSE;
	g_ptr_array_add(call->granted, (gpointer)allocation);
	return delivery_begin(call->by->delivery, allocation, error);
}

/* Kubelet got an error.  An allocation that cannot be ended now is ended by the next list of
 * podresources. */
static void call_undo(AllocateCall *call)
{
	for (guint i = 0; i < call->granted->len; i++) {
		const RdmadAllocation *allocation = call->granted->pdata[i];
		g_autoptr(GError) error = NULL;

		if (!rdmad_allocations_end(call->by->allocations, allocation->id,
					   "another container of the same request failed", &error))
			rdmad_debug("allocation %s: %s", allocation->id, error->message);
	}
}

static gboolean call_grant(AllocateCall *call, GError **error)
{
	const V1beta1__AllocateRequest *request = call->request;

	for (size_t i = 0; i < request->n_container_requests; i++)
		if (!container_grant(call, request->container_requests[i], error)) {
			call_undo(call);
			return FALSE;
		}
	return TRUE;
}

/* ---- answer ---- */

static GPtrArray *answers_new(const AllocateCall *call)
{
	GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)container_answer_free);

	for (guint i = 0; i < call->granted->len; i++)
		g_ptr_array_add(answers, container_answer_new(call->pool, call->granted->pdata[i],
							      delivery_run_dir(call->by->delivery),
							      delivery_cdi(call->by->delivery)));
	return answers;
}

static GBytes *response_pack(const AllocateCall *call)
{
	g_autoptr(GPtrArray) answers = answers_new(call);
	V1beta1__ContainerAllocateResponse *pointers[CONTAINERS_MAX];
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	guint8 *bytes;
	gsize size;

	for (guint i = 0; i < answers->len; i++)
		pointers[i] = container_answer_message(answers->pdata[i]);
	response.n_container_responses = answers->len;
	response.container_responses = pointers;
	size = v1beta1__allocate_response__get_packed_size(&response);
	bytes = g_malloc(size);
	v1beta1__allocate_response__pack(&response, bytes);
	return g_bytes_new_take(bytes, size);
}

gboolean allocate_in_doubt(const Allocator *by, const Pool *pool, const guint8 *message, gsize size)
{
	g_autoptr(Unpacked) unpacked =
		unpack(&v1beta1__allocate_request__descriptor, message, size, NULL);
	AllocateCall call = { by, pool, NULL, NULL };
	gboolean doubt = FALSE;

	if (!unpacked)
		return FALSE;
	call.request = unpacked_message(unpacked);
	if (!request_check(&call, NULL))
		return FALSE;
	for (size_t i = 0; i < call.request->n_container_requests && !doubt; i++) {
		g_auto(ContainerGrant) wanted = { 0 };

		container_grant_init(&wanted, &call, call.request->container_requests[i]);
		doubt = rdmad_allocations_in_doubt(by->allocations, &wanted.grant);
	}
	return doubt;
}

GBytes *allocate(const Allocator *by, const Pool *pool, const guint8 *message, gsize size,
		 GError **error)
{
	g_autoptr(Unpacked) unpacked =
		unpack(&v1beta1__allocate_request__descriptor, message, size, error);
	g_autoptr(GPtrArray) granted =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	AllocateCall call = { by, pool, NULL, granted };

	if (!unpacked)
		return NULL;
	call.request = unpacked_message(unpacked);
	if (!request_check(&call, error) || !call_grant(&call, error))
		return NULL;
	return response_pack(&call);
}
