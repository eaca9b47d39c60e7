/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/preferred.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

#include "allocate/choice.h"
#include "deviceplugin.pb-c.h"
#include "kubelet/unpack.h"

#define CONTAINERS_MAX 64u

static gboolean request_check(const V1beta1__PreferredAllocationRequest *request, GError **error)
{
	if (request->n_container_requests > CONTAINERS_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%zu containers in one request; %u are the most",
			    request->n_container_requests, CONTAINERS_MAX);
		return FALSE;
	}
	for (size_t i = 0; i < request->n_container_requests; i++) {
		const gint64 size = request->container_requests[i]->allocation_size;

		if (size >= 0 && size <= RESOURCE_SLOTS_MAX)
			continue;
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "allocation_size %" G_GINT64_FORMAT " is not between 0 and %u", size,
			    RESOURCE_SLOTS_MAX);
		return FALSE;
	}
	return TRUE;
}

typedef struct {
	const Pool *pool;
	const GArray *gpus;
	RdmadAllocations *allocations;
} Chooser;

static SlotUse use_of(const char *slot, gpointer data)
{
	const Chooser *by = data;
	const RdmadAllocation *allocation =
		rdmad_allocations_by_slot(by->allocations, pool_settings(by->pool)->name, slot);

	if (!allocation)
		return SLOT_FREE;
	return allocation->pod_name ? SLOT_HELD : SLOT_OF_UNKNOWN;
}

static GPtrArray *container_choose(Chooser *by,
				   const V1beta1__ContainerPreferredAllocationRequest *request)
{
	const Preference preference = {
		.available = request->available_deviceids,
		.n_available = request->n_available_deviceids,
		.must = request->must_include_deviceids,
		.n_must = request->n_must_include_deviceids,
		.size = (gsize)request->allocation_size,
		.use_of = use_of,
		.data = by,
	};

	return choice_make(by->pool, by->gpus, &preference);
}

static GBytes *response_pack(Chooser *by, const V1beta1__PreferredAllocationRequest *request)
{
	g_autoptr(GPtrArray) choices =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	V1beta1__ContainerPreferredAllocationResponse containers[CONTAINERS_MAX];
	V1beta1__ContainerPreferredAllocationResponse *pointers[CONTAINERS_MAX];
	V1beta1__PreferredAllocationResponse response =
		V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	guint8 *bytes;
	gsize size;

	for (size_t i = 0; i < request->n_container_requests; i++) {
		GPtrArray *chosen = container_choose(by, request->container_requests[i]);

		g_ptr_array_add(choices, chosen);
		v1beta1__container_preferred_allocation_response__init(&containers[i]);
		containers[i].n_deviceids = chosen->len;
		containers[i].deviceids = (char **)chosen->pdata;
		pointers[i] = &containers[i];
	}
	response.n_container_responses = request->n_container_requests;
	response.container_responses = pointers;
	size = v1beta1__preferred_allocation_response__get_packed_size(&response);
	bytes = g_malloc(size);
	v1beta1__preferred_allocation_response__pack(&response, bytes);
	return g_bytes_new_take(bytes, size);
}

static void request_log(const Pool *pool, const V1beta1__PreferredAllocationRequest *request)
{
	const RdmadLogFields about = { .resource = pool_settings(pool)->name };
	gint64 n = 0;

	for (size_t i = 0; i < request->n_container_requests; i++)
		n += request->container_requests[i]->allocation_size;
	rdmad_log_full(RDMAD_LOG_DEBUG, &about,
		       "%s: kubelet calls GetPreferredAllocation for %" G_GINT64_FORMAT " slots",
		       about.resource, n);
}

GBytes *preferred_answer(const Pool *pool, const GArray *gpus, RdmadAllocations *allocations,
			 const guint8 *message, gsize size, GError **error)
{
	Chooser by = { pool, gpus, allocations };
	g_autoptr(Unpacked) unpacked =
		unpack(&v1beta1__preferred_allocation_request__descriptor, message, size, error);
	const V1beta1__PreferredAllocationRequest *request;

	if (!unpacked)
		return NULL;
	request = unpacked_message(unpacked);
	if (!request_check(request, error))
		return NULL;
	request_log(pool, request);
	return response_pack(&by, request);
}
