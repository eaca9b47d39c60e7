/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

#include "container-answer.h"
#include "deviceplugin.pb-c.h"
#include "unpack.h"

#define CONTAINERS_MAX 64u

typedef struct {
	const RdmadAllocator *by;
	const RdmadPool *pool;
	const V1beta1__AllocateRequest *request;
	GPtrArray *granted; /* a claim for each container, in order */
} Allocation;

/* ---- checks ---- */

static gboolean token_check(const Allocation *allocation, const char *id, GHashTable *seen,
			    GError **error)
{
	const char *resource = rdmad_pool_settings(allocation->pool)->name;
	const RdmadToken *token = rdmad_pool_find(allocation->pool, id);

	if (!token)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "%s: there is no device \"%.63s\"", resource, id);
	else if (!g_hash_table_add(seen, token->id))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: device \"%s\" is asked for twice", resource, id);
	else if (token->device->health.problem)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "%s: device \"%s\" is unhealthy: %s", resource, id,
			    token->device->health.problem);
	else
		return TRUE;
	return FALSE;
}

static gboolean container_check(const Allocation *allocation,
				const V1beta1__ContainerAllocateRequest *container,
				GHashTable *seen, GError **error)
{
	if (container->n_devices_ids == 0 || container->n_devices_ids > RDMAD_CLAIM_MAX_TOKENS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: %zu devices for one container; 1 to %u can be had",
			    rdmad_pool_settings(allocation->pool)->name, container->n_devices_ids,
			    RDMAD_CLAIM_MAX_TOKENS);
		return FALSE;
	}
	for (size_t i = 0; i < container->n_devices_ids; i++)
		if (!token_check(allocation, container->devices_ids[i], seen, error))
			return FALSE;
	return TRUE;
}

static gboolean request_check(const Allocation *allocation, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	const V1beta1__AllocateRequest *request = allocation->request;

	if (request->n_container_requests == 0 || request->n_container_requests > CONTAINERS_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: %zu containers in one request; 1 to %u can be served",
			    rdmad_pool_settings(allocation->pool)->name,
			    request->n_container_requests, CONTAINERS_MAX);
		return FALSE;
	}
	for (size_t i = 0; i < request->n_container_requests; i++)
		if (!container_check(allocation, request->container_requests[i], seen, error))
			return FALSE;
	return TRUE;
}

/* ---- claims ---- */

/* What one container is to get; the ids were checked. */
typedef struct {
	RdmadGrant grant;
	const char **tokens, **devices;
} ContainerGrant;

static void container_grant_init(ContainerGrant *wanted, const Allocation *allocation,
				 const V1beta1__ContainerAllocateRequest *container)
{
	const RdmadResourceSettings *settings = rdmad_pool_settings(allocation->pool);
	const size_t n = container->n_devices_ids;

	wanted->tokens = g_new0(const char *, n + 1);
	wanted->devices = g_new0(const char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		const RdmadToken *token =
			rdmad_pool_find(allocation->pool, container->devices_ids[i]);

		wanted->tokens[i] = token->id;
		wanted->devices[i] = token->device->id;
	}
	wanted->grant = (RdmadGrant){
		.owner = allocation->by->owner,
		.resource = settings->name,
		.tokens = wanted->tokens,
		.devices = wanted->devices,
		.mode = rdmad_resource_modes[settings->mode],
		.asked_us = allocation->by->asked_us,
	};
}

static void container_grant_clear(ContainerGrant *wanted)
{
	g_free(wanted->tokens);
	g_free(wanted->devices);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ContainerGrant, container_grant_clear)

static gboolean container_grant(Allocation *allocation,
				const V1beta1__ContainerAllocateRequest *container, GError **error)
{
	g_auto(ContainerGrant) wanted = { 0 };
	const RdmadClaim *claim;

	container_grant_init(&wanted, allocation, container);
	claim = rdmad_claims_grant(allocation->by->claims, &wanted.grant, error);
	if (!claim)
		return FALSE;
	g_ptr_array_add(allocation->granted, (gpointer)claim);
	return rdmad_handout_begin(allocation->by->handout, claim, error);
}

/* Kubelet was told no.  A claim that cannot be ended now is ended by the next look at podresources. */
static void allocation_undo(Allocation *allocation)
{
	for (guint i = 0; i < allocation->granted->len; i++) {
		const RdmadClaim *claim = allocation->granted->pdata[i];
		g_autoptr(GError) error = NULL;

		if (!rdmad_claims_end(allocation->by->claims, claim->id,
				      "another container of the same request failed", &error))
			rdmad_debug("claim %s: %s", claim->id, error->message);
	}
}

static gboolean allocation_grant(Allocation *allocation, GError **error)
{
	const V1beta1__AllocateRequest *request = allocation->request;

	for (size_t i = 0; i < request->n_container_requests; i++)
		if (!container_grant(allocation, request->container_requests[i], error)) {
			allocation_undo(allocation);
			return FALSE;
		}
	return TRUE;
}

/* ---- answer ---- */

static GPtrArray *answers_new(const Allocation *allocation)
{
	GPtrArray *answers =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_container_answer_free);

	for (guint i = 0; i < allocation->granted->len; i++)
		g_ptr_array_add(answers, rdmad_container_answer_new(
						 allocation->pool, allocation->granted->pdata[i],
						 rdmad_handout_run_dir(allocation->by->handout),
						 rdmad_handout_cdi(allocation->by->handout)));
	return answers;
}

static GBytes *response_pack(const Allocation *allocation)
{
	g_autoptr(GPtrArray) answers = answers_new(allocation);
	V1beta1__ContainerAllocateResponse *pointers[CONTAINERS_MAX];
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	guint8 *bytes;
	gsize size;

	for (guint i = 0; i < answers->len; i++)
		pointers[i] = rdmad_container_answer_message(answers->pdata[i]);
	response.n_container_responses = answers->len;
	response.container_responses = pointers;
	size = v1beta1__allocate_response__get_packed_size(&response);
	bytes = g_malloc(size);
	v1beta1__allocate_response__pack(&response, bytes);
	return g_bytes_new_take(bytes, size);
}

gboolean rdmad_allocate_in_doubt(const RdmadAllocator *by, const RdmadPool *pool,
				 const guint8 *message, gsize size)
{
	g_autoptr(RdmadUnpacked) unpacked =
		rdmad_unpack(&v1beta1__allocate_request__descriptor, message, size, NULL);
	Allocation allocation = { by, pool, NULL, NULL };
	gboolean doubt = FALSE;

	if (!unpacked)
		return FALSE;
	allocation.request = rdmad_unpacked_message(unpacked);
	if (!request_check(&allocation, NULL))
		return FALSE;
	for (size_t i = 0; i < allocation.request->n_container_requests && !doubt; i++) {
		g_auto(ContainerGrant) wanted = { 0 };

		container_grant_init(&wanted, &allocation,
				     allocation.request->container_requests[i]);
		doubt = rdmad_claims_in_doubt(by->claims, &wanted.grant);
	}
	return doubt;
}

GBytes *rdmad_allocate(const RdmadAllocator *by, const RdmadPool *pool, const guint8 *message,
		       gsize size, GError **error)
{
	g_autoptr(RdmadUnpacked) unpacked =
		rdmad_unpack(&v1beta1__allocate_request__descriptor, message, size, error);
	g_autoptr(GPtrArray) granted =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_claim_unref);
	Allocation allocation = { by, pool, NULL, granted };

	if (!unpacked)
		return NULL;
	allocation.request = rdmad_unpacked_message(unpacked);
	if (!request_check(&allocation, error) || !allocation_grant(&allocation, error))
		return NULL;
	return response_pack(&allocation);
}
