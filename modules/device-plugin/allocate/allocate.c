/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocate.h"

#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/log.h>

#include "allocate/allocation-devices.h"
#include "allocate/answer.h"
#include "deviceplugin.pb-c.h"
#include "kubelet/unpack.h"

#define CONTAINERS_MAX 64u

/* ---- calls ---- */

static const V1beta1__AllocateRequest *call_request(const AllocateCall *call)
{
	return unpacked_message(call->request);
}

static void call_log(const AllocateCall *call)
{
	const V1beta1__AllocateRequest *request = call_request(call);
	const RdmadLogFields about = { .resource = pool_settings(call->pool)->name };
	size_t n = 0;

	for (size_t i = 0; i < request->n_container_requests; i++)
		n += request->container_requests[i]->n_devices_ids;
	rdmad_log_full(RDMAD_LOG_DEBUG, &about, "%s: kubelet calls Allocate for %zu slots",
		       about.resource, n);
}

void allocate_call_init(AllocateCall *call, const Pool *pool, const guint8 *message, gsize size)
{
	*call = (AllocateCall){ .pool = pool, .arrived_us = rdmad_now_us() };
	call->request =
		unpack(&v1beta1__allocate_request__descriptor, message, size, &call->refusal);
	if (call->request)
		call_log(call);
}

void allocate_call_clear(AllocateCall *call)
{
	g_clear_pointer(&call->request, unpacked_free);
	g_clear_pointer(&call->grants, g_array_unref);
	g_clear_pointer(&call->answer, g_bytes_unref);
	g_clear_error(&call->refusal);
}

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
	else if (slot->device->place == PLACE_POD)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "%s: device \"%s\" has not returned from the pod of its last holder",
			    resource, id);
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
	const V1beta1__AllocateRequest *request = call_request(call);

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

/* ---- grants ---- */

/* Returns the grant of a container whose slot IDs were checked. */
static RdmadGrantCall container_grant(const Allocator *by, const AllocateCall *call,
				      const V1beta1__ContainerAllocateRequest *container)
{
	const ResourceSettings *settings = pool_settings(call->pool);
	const size_t n = container->n_devices_ids;
	const char **slots = g_new0(const char *, n + 1), **devices = g_new0(const char *, n + 1);
	g_autoptr(GPtrArray) present = NULL, names = NULL;
	GArray *files;
	guint n_files;

	for (size_t i = 0; i < n; i++) {
		const Slot *slot = pool_find(call->pool, container->devices_ids[i]);

		slots[i] = slot->id;
		devices[i] = slot->device->id;
	}
	present = allocation_devices(call->pool, slots);
	names = container_cdi_names(delivery_cdi(by->delivery), present, settings);
	files = allocation_files(present, settings);
	n_files = files->len;
	return (RdmadGrantCall){ .grant = {
					 .owner = by->owner,
					 .resource = settings->name,
					 .slots = slots,
					 .devices = devices,
					 .exposed = (const char *const *)allocation_exposed(
						 call->pool, slots),
					 .mode = resource_modes[settings->mode],
					 .asked_us = call->arrived_us,
					 .files = (gpointer)g_array_free(files, FALSE),
					 .n_files = n_files,
					 .cdi = names != NULL,
				 } };
}

static void grant_clear(gpointer data)
{
	RdmadGrantCall *grant = data;

	g_free((gpointer)grant->grant.slots);
	g_free((gpointer)grant->grant.devices);
	g_strfreev((char **)grant->grant.exposed);
	g_free((gpointer)grant->grant.files);
	rdmad_allocation_unref(grant->allocation);
	g_clear_error(&grant->error);
}

static GArray *grants_new(void)
{
	GArray *grants = g_array_new(FALSE, FALSE, sizeof(RdmadGrantCall));

	g_array_set_clear_func(grants, grant_clear);
	return grants;
}

void allocate_check(const Allocator *by, AllocateCall *call)
{
	const V1beta1__AllocateRequest *request;

	g_clear_pointer(&call->grants, g_array_unref);
	call->grants = grants_new();
	if (call->refusal || !request_check(call, &call->refusal))
		return;
	request = call_request(call);
	for (size_t i = 0; i < request->n_container_requests; i++) {
		const RdmadGrantCall grant =
			container_grant(by, call, request->container_requests[i]);

		g_array_append_val(call->grants, grant);
	}
}

static RdmadGrantCall *call_grant(const AllocateCall *call, guint i)
{
	return &g_array_index(call->grants, RdmadGrantCall, i);
}

gboolean allocate_in_doubt(const Allocator *by, const AllocateCall *call)
{
	for (guint i = 0; i < call->grants->len; i++)
		if (rdmad_allocations_in_doubt(by->allocations, &call_grant(call, i)->grant))
			return TRUE;
	return FALSE;
}

/* ---- responses ---- */

static GBytes *response_pack(const Allocator *by, const AllocateCall *call)
{
	g_autoptr(GPtrArray) answers =
		g_ptr_array_new_with_free_func((GDestroyNotify)container_answer_free);
	V1beta1__ContainerAllocateResponse *pointers[CONTAINERS_MAX];
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	guint8 *bytes;
	gsize size;

	for (guint i = 0; i < call->grants->len; i++) {
		ContainerAnswer *answer = container_answer_new(
			call->pool, call_grant(call, i)->allocation, delivery_run_dir(by->delivery),
			delivery_cdi(by->delivery));

		g_ptr_array_add(answers, answer);
		pointers[i] = container_answer_message(answer);
	}
	response.n_container_responses = answers->len;
	response.container_responses = pointers;
	size = v1beta1__allocate_response__get_packed_size(&response);
	bytes = g_malloc(size);
	v1beta1__allocate_response__pack(&response, bytes);
	return g_bytes_new_take(bytes, size);
}

/* Kubelet gets an error.  If an allocation cannot be ended now, the next list of podresources ends
 * it. */
static void grants_undo(const Allocator *by, const AllocateCall *call)
{
	for (guint i = 0; i < call->grants->len; i++) {
		const RdmadAllocation *allocation = call_grant(call, i)->allocation;
		g_autoptr(GError) error = NULL;

		if (allocation &&
		    !rdmad_allocations_end(by->allocations, allocation->id,
					   "another container of the same request failed", &error))
			rdmad_debug("allocation %s: %s", allocation->id, error->message);
	}
}

static gboolean grants_deliver(const Allocator *by, const AllocateCall *call, GError **error)
{
	for (guint i = 0; i < call->grants->len; i++)
		if (call_grant(call, i)->error) {
			g_propagate_error(error, g_steal_pointer(&call_grant(call, i)->error));
			return FALSE;
		}
	for (guint i = 0; i < call->grants->len; i++)
		if (!delivery_begin(by->delivery, call_grant(call, i)->allocation, error))
			return FALSE;
	return TRUE;
}

static void call_answer(AllocateCall *call, const Allocator *by)
{
	if (grants_deliver(by, call, &call->refusal))
		call->answer = response_pack(by, call);
	else
		grants_undo(by, call);
}

void allocate(const Allocator *by, AllocateCall *const *calls, guint n)
{
	g_autoptr(GPtrArray) grants = g_ptr_array_new();

	for (guint i = 0; i < n; i++)
		for (guint j = 0; j < calls[i]->grants->len; j++)
			g_ptr_array_add(grants, call_grant(calls[i], j));
	rdmad_allocations_grant_all(by->allocations, (RdmadGrantCall *const *)grants->pdata,
				    grants->len);
	for (guint i = 0; i < n; i++)
		if (!calls[i]->refusal)
			call_answer(calls[i], by);
}
