/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "unpack.h"

#define CONTAINERS_MAX 64u
#define CLAIM_ENV      "RDMAD_CLAIM"

typedef struct {
	const RdmadPool *pool;
	RdmadClaims *claims;
	const char *owner;
	const V1beta1__AllocateRequest *request;
	GPtrArray *granted; /* a claim for each container, in order */
	GPtrArray *renewed; /* ids of those that were there before */
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

static gboolean container_grant(Allocation *allocation,
				const V1beta1__ContainerAllocateRequest *container, GError **error)
{
	const size_t n = container->n_devices_ids;
	g_autofree const char **tokens = g_new0(const char *, n + 1);
	g_autofree const char **devices = g_new0(const char *, n + 1);
	const char *resource = rdmad_pool_settings(allocation->pool)->name;
	const RdmadGrant grant = { allocation->owner, resource, tokens, devices };
	const RdmadClaim *before, *claim;
	g_autofree char *id_before = NULL;

	for (size_t i = 0; i < n; i++) {
		const RdmadToken *token =
			rdmad_pool_find(allocation->pool, container->devices_ids[i]);

		tokens[i] = token->id;
		devices[i] = token->device->id;
	}
	before = rdmad_claims_by_token(allocation->claims, resource, tokens[0]);
	id_before = before ? g_strdup(before->id) : NULL;
	claim = rdmad_claims_grant(allocation->claims, &grant, error);
	if (!claim)
		return FALSE;
	g_ptr_array_add(allocation->granted, (gpointer)claim);
	if (id_before && g_str_equal(id_before, claim->id))
		g_ptr_array_add(allocation->renewed, claim->id);
	return TRUE;
}

/* Kubelet was told no.  A claim that cannot be ended now is ended by the next look at podresources. */
static void allocation_undo(Allocation *allocation)
{
	for (guint i = 0; i < allocation->granted->len; i++) {
		const RdmadClaim *claim = allocation->granted->pdata[i];
		g_autoptr(GError) error = NULL;

		if (g_ptr_array_find(allocation->renewed, claim->id, NULL))
			continue;
		if (!rdmad_claims_end(allocation->claims, claim->id,
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

static int text_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static gboolean kind_is_wanted(const RdmadResourceSettings *settings, RdmadChardevKind kind)
{
	switch (kind) {
	case RDMAD_CHARDEV_UMAD:
		return settings->umad;
	case RDMAD_CHARDEV_ISSM:
		return settings->issm;
	case RDMAD_CHARDEV_UCM:
		return settings->ucm;
	case RDMAD_CHARDEV_UVERBS:
	case RDMAD_CHARDEV_RDMA_CM:
		return TRUE;
	}
	return FALSE;
}

static void paths_add(GHashTable *paths, const RdmadDevice *dev,
		      const RdmadResourceSettings *settings)
{
	for (guint i = 0; i < dev->n_chardevs; i++)
		if (kind_is_wanted(settings, dev->chardevs[i].kind))
			g_hash_table_add(paths, dev->chardevs[i].path);
}

/* Paths of the device nodes behind a claim, each once, sorted; borrowed from the devices. */
static GPtrArray *claim_paths(const RdmadPool *pool, const RdmadClaim *claim)
{
	g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *sorted = g_ptr_array_new();
	GHashTableIter iter;
	gpointer path;

	for (guint i = 0; claim->tokens[i]; i++)
		paths_add(paths, rdmad_pool_find(pool, claim->tokens[i])->device->dev,
			  rdmad_pool_settings(pool));
	g_hash_table_iter_init(&iter, paths);
	while (g_hash_table_iter_next(&iter, &path, NULL))
		g_ptr_array_add(sorted, path);
	g_ptr_array_sort(sorted, text_compare);
	return sorted;
}

/* One container's part of the response, with all that it points to. */
typedef struct {
	V1beta1__ContainerAllocateResponse message;
	V1beta1__ContainerAllocateResponse__EnvsEntry env, *envs[1];
	V1beta1__DeviceSpec *specs, **spec_pointers;
} Answer;

static void answer_fill(Answer *answer, const RdmadPool *pool, const RdmadClaim *claim)
{
	g_autoptr(GPtrArray) paths = claim_paths(pool, claim);

	v1beta1__container_allocate_response__init(&answer->message);
	v1beta1__container_allocate_response__envs_entry__init(&answer->env);
	answer->env.key = (char *)CLAIM_ENV;
	answer->env.value = claim->id;
	answer->envs[0] = &answer->env;
	answer->message.n_envs = 1;
	answer->message.envs = answer->envs;
	answer->specs = g_new(V1beta1__DeviceSpec, paths->len);
	answer->spec_pointers = g_new(V1beta1__DeviceSpec *, paths->len);
	for (guint i = 0; i < paths->len; i++) {
		v1beta1__device_spec__init(&answer->specs[i]);
		answer->specs[i].host_path = paths->pdata[i];
		answer->specs[i].container_path = paths->pdata[i];
		answer->specs[i].permissions = rdmad_pool_settings(pool)->permissions;
		answer->spec_pointers[i] = &answer->specs[i];
	}
	answer->message.n_devices = paths->len;
	answer->message.devices = answer->spec_pointers;
}

static void answers_clear(Answer *answers, guint n)
{
	for (guint i = 0; i < n; i++) {
		g_free(answers[i].specs);
		g_free(answers[i].spec_pointers);
	}
}

static GBytes *response_pack(const Allocation *allocation)
{
	const guint n = allocation->granted->len;
	g_autofree Answer *answers = g_new0(Answer, n);
	V1beta1__ContainerAllocateResponse *pointers[CONTAINERS_MAX];
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	guint8 *bytes;
	gsize size;

	for (guint i = 0; i < n; i++) {
		answer_fill(&answers[i], allocation->pool, allocation->granted->pdata[i]);
		pointers[i] = &answers[i].message;
	}
	response.n_container_responses = n;
	response.container_responses = pointers;
	size = v1beta1__allocate_response__get_packed_size(&response);
	bytes = g_malloc(size);
	v1beta1__allocate_response__pack(&response, bytes);
	answers_clear(answers, n);
	return g_bytes_new_take(bytes, size);
}

GBytes *rdmad_allocate(const RdmadPool *pool, RdmadClaims *claims, const char *owner,
		       const guint8 *message, gsize size, GError **error)
{
	g_autoptr(RdmadUnpacked) unpacked =
		rdmad_unpack(&v1beta1__allocate_request__descriptor, message, size, error);
	g_autoptr(GPtrArray) granted =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_claim_unref);
	g_autoptr(GPtrArray) renewed = g_ptr_array_new();
	Allocation allocation = { pool, claims, owner, NULL, granted, renewed };

	if (!unpacked)
		return NULL;
	allocation.request = rdmad_unpacked_message(unpacked);
	if (!request_check(&allocation, error) || !allocation_grant(&allocation, error))
		return NULL;
	return response_pack(&allocation);
}
