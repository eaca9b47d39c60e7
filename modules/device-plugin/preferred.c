/* SPDX-License-Identifier: Apache-2.0 */
#include "preferred.h"

#include <rdmad/error.h>

#include "deviceplugin.pb-c.h"
#include "unpack.h"

#define CONTAINERS_MAX 64u

/* One device that has tokens on offer. */
typedef struct {
	const RdmadPoolDevice *device;
	GPtrArray *offered; /* ids, in the order of the pool's list */
	guint next;	    /* first of them not taken */
	guint taken;	    /* of this device, `must` included */
} Candidate;

typedef struct {
	GPtrArray *candidates; /* in the order of the pool's devices */
	GHashTable *by_device; /* RdmadPoolDevice -> Candidate */
	GHashTable *taken_on;  /* NUMA node -> how many were taken there */
	GPtrArray *chosen;
	gsize size;
} Choice;

static void candidate_free(gpointer data)
{
	Candidate *candidate = data;

	g_ptr_array_unref(candidate->offered);
	g_free(candidate);
}

static Candidate *choice_candidate(Choice *choice, const RdmadPoolDevice *device)
{
	Candidate *candidate = g_hash_table_lookup(choice->by_device, device);

	if (candidate)
		return candidate;
	candidate = g_new0(Candidate, 1);
	candidate->device = device;
	candidate->offered = g_ptr_array_new();
	g_hash_table_insert(choice->by_device, (gpointer)device, candidate);
	g_ptr_array_add(choice->candidates, candidate);
	return candidate;
}

/* Kubelet offers in no order; the pool's own is what makes the answer the same each time. */
static void choice_offer(Choice *choice, const RdmadPool *pool, const RdmadPreference *preference)
{
	g_autoptr(GHashTable) offered = g_hash_table_new(g_str_hash, g_str_equal);

	for (gsize i = 0; i < preference->n_available; i++)
		g_hash_table_add(offered, preference->available[i]);
	for (gsize i = 0; i < preference->n_must; i++)
		g_hash_table_remove(offered, preference->must[i]);
	for (guint i = 0; i < rdmad_pool_token_count(pool); i++) {
		const RdmadToken *token = rdmad_pool_token(pool, i);
		gpointer id = NULL;

		if (g_hash_table_lookup_extended(offered, token->id, &id, NULL))
			g_ptr_array_add(choice_candidate(choice, token->device)->offered, id);
	}
}

static guint taken_on(const Choice *choice, int numa_node)
{
	if (numa_node < 0)
		return 0;
	return GPOINTER_TO_UINT(g_hash_table_lookup(choice->taken_on, GINT_TO_POINTER(numa_node)));
}

static void choice_take(Choice *choice, Candidate *candidate, char *id)
{
	const int numa_node = candidate->device->numa_node;

	candidate->taken++;
	g_hash_table_replace(choice->taken_on, GINT_TO_POINTER(numa_node),
			     GUINT_TO_POINTER(taken_on(choice, numa_node) + 1));
	g_ptr_array_add(choice->chosen, id);
}

static void choice_take_must(Choice *choice, const RdmadPool *pool,
			     const RdmadPreference *preference)
{
	for (gsize i = 0; i < preference->n_must && choice->chosen->len < choice->size; i++) {
		const RdmadToken *token = rdmad_pool_find(pool, preference->must[i]);

		if (token)
			choice_take(choice, choice_candidate(choice, token->device),
				    preference->must[i]);
		else
			g_ptr_array_add(choice->chosen, preference->must[i]);
	}
}

static gboolean candidate_has_more(const Candidate *candidate)
{
	return candidate->next < candidate->offered->len;
}

/* How many of the wanted devices one NUMA node could give, each once. */
static guint room_on(const Choice *choice, int numa_node)
{
	guint room = 0;

	for (guint i = 0; numa_node >= 0 && i < choice->candidates->len; i++) {
		const Candidate *candidate = choice->candidates->pdata[i];

		room += candidate_has_more(candidate) && candidate->taken == 0 &&
			candidate->device->numa_node == numa_node;
	}
	return (guint)MIN(room, choice->size - choice->chosen->len);
}

static guint candidate_in_use(const Candidate *candidate)
{
	return candidate->device->n_tokens -
	       MIN(candidate->device->n_tokens, candidate->offered->len);
}

/* TRUE when `a` is the better next one; what is equal in all stays in order. */
static gboolean candidate_beats(const Choice *choice, const Candidate *a, const Candidate *b)
{
	const guint near_a = taken_on(choice, a->device->numa_node);
	const guint near_b = taken_on(choice, b->device->numa_node);

	if (a->taken != b->taken)
		return a->taken < b->taken;
	if (near_a != near_b)
		return near_a > near_b;
	if (a->device->numa_node != b->device->numa_node) {
		const guint room_a = room_on(choice, a->device->numa_node);
		const guint room_b = room_on(choice, b->device->numa_node);

		if (room_a != room_b)
			return room_a > room_b;
	}
	return candidate_in_use(a) < candidate_in_use(b);
}

static gboolean choice_take_best(Choice *choice)
{
	Candidate *best = NULL;

	for (guint i = 0; i < choice->candidates->len; i++) {
		Candidate *candidate = choice->candidates->pdata[i];

		if (candidate_has_more(candidate) &&
		    (!best || candidate_beats(choice, candidate, best)))
			best = candidate;
	}
	if (best)
		choice_take(choice, best, best->offered->pdata[best->next++]);
	return best != NULL;
}

GPtrArray *rdmad_preferred_choose(const RdmadPool *pool, const RdmadPreference *preference)
{
	g_autoptr(GPtrArray) candidates = g_ptr_array_new_with_free_func(candidate_free);
	g_autoptr(GHashTable) by_device = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) on_nodes = g_hash_table_new(NULL, NULL);
	Choice choice = { candidates, by_device, on_nodes, g_ptr_array_new(), preference->size };

	choice_offer(&choice, pool, preference);
	choice_take_must(&choice, pool, preference);
	while (choice.chosen->len < choice.size && choice_take_best(&choice))
		;
	return choice.chosen;
}

/* ---- messages ---- */

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

		if (size >= 0 && size <= RDMAD_RESOURCE_TOKENS_MAX)
			continue;
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "allocation_size %" G_GINT64_FORMAT " is not between 0 and %u", size,
			    RDMAD_RESOURCE_TOKENS_MAX);
		return FALSE;
	}
	return TRUE;
}

static GPtrArray *container_choose(const RdmadPool *pool,
				   const V1beta1__ContainerPreferredAllocationRequest *request)
{
	const RdmadPreference preference = {
		.available = request->available_deviceids,
		.n_available = request->n_available_deviceids,
		.must = request->must_include_deviceids,
		.n_must = request->n_must_include_deviceids,
		.size = (gsize)request->allocation_size,
	};

	return rdmad_preferred_choose(pool, &preference);
}

static GBytes *response_pack(const RdmadPool *pool,
			     const V1beta1__PreferredAllocationRequest *request)
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
		GPtrArray *chosen = container_choose(pool, request->container_requests[i]);

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

GBytes *rdmad_preferred_answer(const RdmadPool *pool, const guint8 *message, gsize size,
			       GError **error)
{
	g_autoptr(RdmadUnpacked) unpacked = rdmad_unpack(
		&v1beta1__preferred_allocation_request__descriptor, message, size, error);
	const V1beta1__PreferredAllocationRequest *request;

	if (!unpacked)
		return NULL;
	request = rdmad_unpacked_message(unpacked);
	return request_check(request, error) ? response_pack(pool, request) : NULL;
}
