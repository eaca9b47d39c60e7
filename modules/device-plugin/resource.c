/* SPDX-License-Identifier: Apache-2.0 */
#include "resource.h"

#include <rdmad/allocations.h>
#include <rdmad/doctor.h>
#include <rdmad/log.h>
#include <rdmad/stats.h>
#include <rdmad/pods.h>
#include <jansson.h>

#include "allocate/allocate.h"
#include "kubelet/device-list.h"
#include "health-news.h"
#include "allocate/preferred.h"
#include "kubelet/registration.h"

struct RdmadResource {
	const RdmadResourceShared *shared;
	RdmadModule *self;
	RdmadPool *pool;
	RdmadRegistration *registration;
	gboolean cut_told;
	gboolean options_told;
	RdmadPluginOptions options; /* as kubelet was told last */
	guint64 allocations, refusals;
};

const char *rdmad_resource_name(const RdmadResource *resource)
{
	return rdmad_pool_settings(resource->pool)->name;
}

/* ---- what kubelet asks ---- */

static void log_refusal(RdmadResource *resource, const GError *error)
{
	const RdmadLogFields about = { .resource = rdmad_resource_name(resource) };

	resource->refusals++;
	rdmad_log_full(RDMAD_LOG_WARNING, &about, "Allocate refused: %s", error->message);
}

static RdmadAllocator allocator(const RdmadResource *resource, gint64 asked_us)
{
	return (RdmadAllocator){
		.allocations = rdmad_module_allocations(resource->self),
		.delivery = resource->shared->delivery,
		.owner = rdmad_module_name(resource->self),
		.asked_us = asked_us,
	};
}

static void allocate(RdmadGrpcCall *call, const guint8 *message, gsize size, gint64 asked_us,
		     gpointer data)
{
	RdmadResource *resource = data;
	const RdmadAllocator by = allocator(resource, asked_us);
	const gint64 began_us = g_get_monotonic_time();
	g_autoptr(GError) refusal = NULL;
	g_autoptr(GBytes) answer = rdmad_allocate(&by, resource->pool, message, size, &refusal);

	rdmad_stat_observe(resource->shared->allocate_durations,
			   (double)(g_get_monotonic_time() - began_us) / G_USEC_PER_SEC, NULL);
	if (answer) {
		resource->allocations++;
		rdmad_pods_hint(rdmad_module_pods(resource->self));
	} else {
		log_refusal(resource, refusal);
	}
	rdmad_plugin_server_reply(call, answer, refusal);
}

static void serve_allocate(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	RdmadResource *resource = data;
	const gint64 now_us = g_get_monotonic_time();
	const RdmadAllocator by = allocator(resource, now_us);

	rdmad_pods_look(rdmad_module_pods(resource->self));
	if (!rdmad_allocate_in_doubt(&by, resource->pool, message, size) ||
	    !rdmad_allocate_wait_add(resource->shared->allocate_wait, call, message, size, allocate,
				     resource))
		allocate(call, message, size, now_us, resource);
}

static GBytes *serve_preferred(const guint8 *message, gsize size, gpointer data, GError **error)
{
	RdmadResource *resource = data;
	g_autoptr(GArray) gpus = rdmad_gpu_ids_placement(resource->shared->gpu_ids);

	return rdmad_preferred_answer(resource->pool, gpus,
				      rdmad_module_allocations(resource->self), message, size,
				      error);
}

/* Also with one device now: another may join while kubelet goes by what it heard. */
static void serve_options(RdmadPluginOptions *options, gpointer data)
{
	RdmadResource *resource = data;

	options->preferred = TRUE;
	options->pre_start = rdmad_pre_start_wanted(resource->shared->pre_start,
						    rdmad_pool_settings(resource->pool));
	resource->options = *options;
	resource->options_told = TRUE;
}

static void serve_pre_start(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	RdmadResource *resource = data;

	rdmad_pre_start_serve(resource->shared->pre_start, rdmad_pool_settings(resource->pool),
			      call, message, size);
}

/* A kubelet that has come, maybe another one, knows who holds what. */
static void streams_changed(gpointer data)
{
	RdmadResource *resource = data;

	rdmad_pods_hint(rdmad_module_pods(resource->self));
}

static const RdmadPluginServerOps SERVER_OPS = {
	.allocate = serve_allocate,
	.preferred = serve_preferred,
	.pre_start = serve_pre_start,
	.options = serve_options,
	.streams_changed = streams_changed,
};

/* ---- allocations ---- */

typedef struct {
	RdmadAllocations *allocations;
	const char *resource;
	GArray *held; /* of RdmadHeldSlot */
} Collection;

static void collect_allocation(const RdmadAllocation *allocation, gpointer data)
{
	Collection *collection = data;

	if (!g_str_equal(allocation->resource, collection->resource))
		return;
	/* Once, where containers of one pod share it. */
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadHeldSlot slot = { allocation->slots[i], allocation->devices[i] };

		if (rdmad_allocations_by_slot(collection->allocations, allocation->resource,
					      slot.slot) == allocation)
			g_array_append_val(collection->held, slot);
	}
}

/* For allocations that are rebuilt from what kubelet says. */
static const char *device_of(const char *slot, gpointer data)
{
	const RdmadResource *resource = data;
	const RdmadSlot *found = rdmad_pool_find(resource->pool, slot);

	return found ? found->device->id : NULL;
}

static char *id_of(const char *const *slots, gpointer data)
{
	const RdmadResource *resource = data;

	return rdmad_delivery_recall(resource->shared->delivery, rdmad_resource_name(resource),
				     slots);
}

static void resolver_set(RdmadResource *resource, gboolean on)
{
	const RdmadAllocationResolver resolver = {
		.owner = rdmad_module_name(resource->self),
		.resource = rdmad_resource_name(resource),
		.device_of = on ? device_of : NULL,
		.id_of = id_of,
	};

	rdmad_allocations_set_resolver(rdmad_module_allocations(resource->self), resource->self,
				       &resolver, resource);
}

gboolean rdmad_resource_lacks(const RdmadResource *resource, const RdmadAllocation *allocation)
{
	if (!g_str_equal(allocation->resource, rdmad_resource_name(resource)))
		return FALSE;
	for (guint i = 0; allocation->slots[i]; i++)
		if (!rdmad_pool_find(resource->pool, allocation->slots[i]))
			return TRUE;
	return FALSE;
}

/* ---- update ---- */

static void tell_health(const RdmadPoolDevice *device, gpointer data)
{
	RdmadResource *resource = data;

	rdmad_health_news_tell(resource->self, resource->pool, device);
}

static void tell_cut(RdmadResource *resource)
{
	const RdmadLogFields about = { .resource = rdmad_resource_name(resource) };
	const gboolean cut = rdmad_pool_is_cut(resource->pool);

	if (cut && !resource->cut_told)
		rdmad_log_full(RDMAD_LOG_WARNING, &about,
			       "%s: count is too high for %u devices; only %u slots in all fit "
			       "into one message to kubelet, so each device has fewer",
			       about.resource, rdmad_pool_device_count(resource->pool),
			       RDMAD_RESOURCE_SLOTS_MAX);
	resource->cut_told = cut;
}

gint64 rdmad_resource_update(RdmadResource *resource, const GArray *members,
			     const RdmadPluginSettings *plugin)
{
	g_autoptr(GArray) held = g_array_new(FALSE, FALSE, sizeof(RdmadHeldSlot));
	RdmadAllocations *allocations = rdmad_module_allocations(resource->self);
	Collection collection = { allocations, rdmad_resource_name(resource), held };
	RdmadPoolView view = {
		.now_us = g_get_monotonic_time(),
		.health_delay_us = (gint64)plugin->health_delay_ms * 1000,
		.forget_us = (gint64)plugin->forget_delay_ms * 1000,
		.members = (const RdmadPoolMember *)(const void *)members->data,
		.n_members = members->len,
	};
	g_autoptr(GBytes) list = NULL;
	gint64 wait_us;

	rdmad_allocations_foreach(allocations, collect_allocation, &collection);
	view.held = (const RdmadHeldSlot *)(const void *)held->data;
	view.n_held = held->len;
	wait_us = rdmad_pool_update(resource->pool, &view);
	list = rdmad_device_list_pack(resource->pool);
	rdmad_registration_publish(resource->registration, list);
	rdmad_pool_take_news(resource->pool, tell_health, resource);
	tell_cut(resource);
	return wait_us;
}

void rdmad_resource_configure(RdmadResource *resource, RdmadResourceSettings *settings)
{
	rdmad_pool_configure(resource->pool, settings);
}

/* ---- registration ---- */

void rdmad_resource_look(RdmadResource *resource)
{
	rdmad_registration_look(resource->registration);
}

void rdmad_resource_follow_options(RdmadResource *resource)
{
	const gboolean wanted = rdmad_pre_start_wanted(resource->shared->pre_start,
						       rdmad_pool_settings(resource->pool));

	if (resource->options_told && resource->options.pre_start != wanted)
		rdmad_registration_restart(resource->registration);
}

void rdmad_resource_restart(RdmadResource *resource)
{
	rdmad_registration_restart(resource->registration);
}

void rdmad_resource_drain(RdmadResource *resource, void (*drained)(gpointer data), gpointer data)
{
	rdmad_registration_drain(resource->registration, drained, data);
}

RdmadResource *rdmad_resource_new(const RdmadResourceShared *shared,
				  RdmadResourceSettings *settings)
{
	RdmadResource *resource = g_new0(RdmadResource, 1);

	resource->shared = shared;
	resource->self = shared->self;
	resource->pool = rdmad_pool_new(settings);
	resource->registration = rdmad_registration_new(shared->self, shared->kubelet,
							settings->name, &SERVER_OPS, resource);
	resolver_set(resource, TRUE);
	return resource;
}

void rdmad_resource_free(RdmadResource *resource)
{
	resolver_set(resource, FALSE);
	rdmad_allocate_wait_drop(resource->shared->allocate_wait, resource);
	rdmad_registration_free(resource->registration);
	rdmad_pool_free(resource->pool);
	g_free(resource);
}

/* ---- what people ask ---- */

static guint count_healthy(const RdmadPool *pool)
{
	guint n = 0;

	for (guint i = 0; i < rdmad_pool_slot_count(pool); i++)
		n += !rdmad_pool_slot(pool, i)->device->health.problem;
	return n;
}

typedef struct {
	RdmadAllocations *allocations;
	const char *resource;
	RdmadResourceCounts *counts;
} AllocationCount;

static void count_allocation(const RdmadAllocation *allocation, gpointer data)
{
	const AllocationCount *count = data;

	if (!g_str_equal(allocation->resource, count->resource))
		return;
	count->counts->allocations++;
	for (guint i = 0; allocation->slots[i]; i++)
		count->counts->allocated +=
			rdmad_allocations_by_slot(count->allocations, allocation->resource,
						  allocation->slots[i]) == allocation;
}

void rdmad_resource_count(const RdmadResource *resource, RdmadResourceCounts *counts)
{
	AllocationCount count = { rdmad_module_allocations(resource->self),
				  rdmad_resource_name(resource), counts };
	RdmadRegistrationInfo info;

	rdmad_registration_info(resource->registration, &info);
	*counts = (RdmadResourceCounts){ .slots = rdmad_pool_slot_count(resource->pool) };
	counts->unhealthy = counts->slots - count_healthy(resource->pool);
	counts->registered = info.registered ? 1 : 0;
	rdmad_allocations_foreach(count.allocations, count_allocation, &count);
}

/* "mlx5_3: no port of it is active" */
static json_t *unhealthy_status(const RdmadPool *pool)
{
	json_t *unhealthy = json_array();

	for (guint i = 0; i < rdmad_pool_device_count(pool); i++) {
		const RdmadPoolDevice *device = rdmad_pool_device(pool, i);

		if (device->health.problem)
			json_array_append_new(
				unhealthy,
				json_sprintf("%s: %s", device->dev ? device->dev->name : device->id,
					     device->health.problem));
	}
	return unhealthy;
}

json_t *rdmad_resource_status(const RdmadResource *resource)
{
	const RdmadResourceSettings *settings = rdmad_pool_settings(resource->pool);
	RdmadRegistrationInfo info;
	RdmadResourceCounts counts;

	rdmad_registration_info(resource->registration, &info);
	rdmad_resource_count(resource, &counts);
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:b, s:s, s:i, s:I, s:I, s:s?, s:o}",
			 "name", settings->name, "mode", rdmad_resource_modes[settings->mode],
			 "devices", (int)rdmad_pool_device_count(resource->pool), "slots",
			 (int)rdmad_pool_slot_count(resource->pool), "healthy",
			 (int)count_healthy(resource->pool), "allocated", (int)counts.allocated,
			 "registered", info.registered, "registration_method",
			 info.way == RDMAD_REGISTRATION_REGISTRY ? "registry" : "legacy", "streams",
			 (int)info.streams, "allocations", (json_int_t)resource->allocations,
			 "refusals", (json_int_t)resource->refusals, "last_error", info.error,
			 "unhealthy", unhealthy_status(resource->pool));
}

static char *registration_trouble(const RdmadRegistrationInfo *info)
{
	if (info->registered)
		return NULL;
	return g_strdup_printf("not registered at kubelet: %s",
			       info->error ? info->error : "kubelet has not called yet");
}

char *rdmad_resource_trouble(const RdmadResource *resource)
{
	g_autofree char *trouble = NULL;
	RdmadRegistrationInfo info;

	rdmad_registration_info(resource->registration, &info);
	trouble = registration_trouble(&info);
	if (!trouble)
		return NULL;
	return g_strdup_printf("%s: %s", rdmad_resource_name(resource), trouble);
}

void rdmad_resource_doctor(const RdmadResource *resource, json_t *findings)
{
	const char *name = rdmad_resource_name(resource);
	g_autofree char *text = NULL;
	RdmadRegistrationInfo info;

	rdmad_registration_info(resource->registration, &info);
	text = registration_trouble(&info);
	if (text) {
		rdmad_doctor_add(
			findings, RDMAD_FINDING_PROBLEM, name, text,
			"see that kubelet runs and that its directory is the one rdmad looks "
			"at (--kubelet-dir)");
		return;
	}
	text = g_strdup_printf("registered, %u of %u slots healthy", count_healthy(resource->pool),
			       rdmad_pool_slot_count(resource->pool));
	if (rdmad_pool_device_count(resource->pool) == 0)
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, name, "no device is selected",
				 "compare its selectors with `rdmad devices`");
	else
		rdmad_doctor_add(findings,
				 count_healthy(resource->pool) ? RDMAD_FINDING_OK
							       : RDMAD_FINDING_PROBLEM,
				 name, text, NULL);
}
