/* SPDX-License-Identifier: Apache-2.0 */
#include "resource.h"

#include <jansson.h>
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/doctor.h>
#include <rdmad/event-log.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/pods.h>
#include <rdmad/stats.h>

#include "allocate/allocation-devices.h"
#include "allocate/preferred.h"
#include "kubelet/device-list.h"
#include "kubelet/registration.h"

#define HOLDERS_MAX 16u /* limit of events for one device, which may have a thousand containers */

struct Resource {
	const ResourceShared *shared;
	RdmadModule *self;
	Pool *pool;
	Registration *registration;
	GBytes *list; /* the last message to kubelet, or NULL */
	gboolean cut_logged, empty_posted;
	gboolean options_sent;
	PluginOptions options; /* as last sent to kubelet */
	guint64 allocations, refusals;
};

const char *resource_name(const Resource *resource)
{
	return pool_settings(resource->pool)->name;
}

/* ---- requests of kubelet ---- */

static void log_refusal(Resource *resource, const GError *error)
{
	const RdmadLogFields about = { .resource = resource_name(resource) };

	resource->refusals++;
	rdmad_log_full(RDMAD_LOG_WARNING, &about, "Allocate refused: %s", error->message);
}

void resource_answer(RdmadGrpcCall *call, GBytes *answer, const GError *refusal, gint64 arrived_us,
		     gpointer data)
{
	Resource *resource = data;

	rdmad_stat_observe(resource->shared->allocate_durations,
			   (double)(rdmad_now_us() - arrived_us) / G_USEC_PER_SEC, NULL);
	if (answer) {
		resource->allocations++;
		rdmad_pods_hint(rdmad_module_pods(resource->self));
	} else {
		log_refusal(resource, refusal);
	}
	plugin_server_reply(call, answer, refusal);
}

static void serve_allocate(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Resource *resource = data;

	allocate_queue_add(resource->shared->allocate_queue, call, resource->pool, message, size,
			   resource);
}

static GBytes *serve_preferred(const guint8 *message, gsize size, gpointer data, GError **error)
{
	Resource *resource = data;
	g_autoptr(GArray) gpus = gpu_ids_placement(resource->shared->gpu_ids);

	return preferred_answer(resource->pool, gpus, rdmad_module_allocations(resource->self),
				message, size, error);
}

/* Requests GetPreferredAllocation even for a single device: another may be added while kubelet
 * still uses the old options. */
static void serve_options(PluginOptions *options, gpointer data)
{
	Resource *resource = data;

	options->preferred = TRUE;
	options->pre_start =
		pre_start_wanted(resource->shared->pre_start, pool_settings(resource->pool));
	resource->options = *options;
	resource->options_sent = TRUE;
}

static void serve_pre_start(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Resource *resource = data;

	pre_start_serve(resource->shared->pre_start, pool_settings(resource->pool), call, message,
			size);
}

static gboolean offers(gpointer data)
{
	const Resource *resource = data;

	return pool_healthy_count(resource->pool) > 0;
}

/* Kubelet has appeared, possibly another one: it can list the holders. */
static void streams_changed(gpointer data)
{
	Resource *resource = data;
	RdmadPods *pods = rdmad_module_pods(resource->self);

	rdmad_pods_detect_kubelet(pods);
	rdmad_pods_hint(pods);
}

static const PluginServerOps SERVER_OPS = {
	.allocate = serve_allocate,
	.preferred = serve_preferred,
	.pre_start = serve_pre_start,
	.options = serve_options,
	.streams_changed = streams_changed,
	.offers = offers,
};

/* ---- allocations ---- */

typedef struct {
	RdmadAllocations *allocations;
	const char *resource;
	GArray *held; /* of HeldSlot */
} Collection;

static void collect_allocation(const RdmadAllocation *allocation, gpointer data)
{
	Collection *collection = data;

	if (!g_str_equal(allocation->resource, collection->resource))
		return;
	/* Counts a slot once if containers of a pod share it. */
	for (guint i = 0; allocation->slots[i]; i++) {
		const HeldSlot slot = { allocation->slots[i], allocation->devices[i] };

		if (rdmad_allocations_by_slot(collection->allocations, allocation->resource,
					      slot.slot) == allocation)
			g_array_append_val(collection->held, slot);
	}
}

/* Resolves slots of allocations that are rebuilt from podresources. */
static const char *device_of(const char *slot, gpointer data)
{
	const Resource *resource = data;
	const Slot *found = pool_find(resource->pool, slot);

	return found ? found->device->id : NULL;
}

static char *id_of(const char *const *slots, gpointer data)
{
	const Resource *resource = data;

	return delivery_recall(resource->shared->delivery, resource_name(resource), slots);
}

static char **exposed_of(const char *const *slots, gpointer data)
{
	const Resource *resource = data;

	return allocation_exposed(resource->pool, slots);
}

static gboolean port_counts(const RdmadDevice *dev, const RdmadPort *port, gconstpointer data)
{
	const Resource *resource = data;

	return selector_takes_port(&pool_settings(resource->pool)->selector, dev, port);
}

static const char *mode_of(gpointer data)
{
	const Resource *resource = data;

	return resource_modes[pool_settings(resource->pool)->mode];
}

static void resolver_set(Resource *resource, gboolean on)
{
	const RdmadAllocationResolver resolver = {
		.owner = rdmad_module_name(resource->self),
		.resource = resource_name(resource),
		.device_of = on ? device_of : NULL,
		.id_of = id_of,
		.exposed_of = exposed_of,
		.port_counts = port_counts,
		.mode_of = mode_of,
	};

	rdmad_allocations_set_resolver(rdmad_module_allocations(resource->self), resource->self,
				       &resolver, resource);
}

static const RdmadAllocation *rival_of(const Resource *resource, const char *device_id)
{
	return rdmad_allocations_find_holder(
		rdmad_module_allocations(resource->self), device_id,
		rdmad_hold_excluding(resource_modes[pool_settings(resource->pool)->mode]), NULL,
		NULL);
}

static gboolean lacks_slot(const Resource *resource, const RdmadAllocation *allocation)
{
	for (guint i = 0; allocation->slots[i]; i++)
		if (!pool_find(resource->pool, allocation->slots[i]))
			return TRUE;
	return FALSE;
}

/* A holder under the resource's own name changes nothing, unless other slots of the device are
 * withheld. */
static gboolean has_other_rival(const Resource *resource, const RdmadAllocation *allocation)
{
	const gboolean is_ours = g_str_equal(allocation->resource, resource_name(resource));

	for (guint i = 0; allocation->devices[i]; i++) {
		const PoolDevice *device = pool_find_device(resource->pool, allocation->devices[i]);

		if (device && device->place != PLACE_HOST)
			return TRUE;
		if (device && device->dev && (!is_ours || device->withheld) &&
		    rival_of(resource, device->id) != device->rival)
			return TRUE;
	}
	return FALSE;
}

gboolean resource_is_outdated_by(const Resource *resource, const RdmadAllocation *allocation)
{
	return (g_str_equal(allocation->resource, resource_name(resource)) &&
		lacks_slot(resource, allocation)) ||
	       has_other_rival(resource, allocation);
}

/* ---- health, posted to the event log for the device and the containers that hold it ---- */

typedef struct {
	RdmadEventLog *event_log;
	const PoolDevice *device;
	const char *resource;
	guint n_holders;
} News;

static const char *device_name(const PoolDevice *device)
{
	return device->dev ? device->dev->name : device->id;
}

static void post_device(const News *news)
{
	const char *problem = news->device->health.problem, *name = device_name(news->device);
	const RdmadLogFields about = { .device = news->device->id, .resource = news->resource };

	if (problem)
		rdmad_event_log_post(news->event_log, RDMAD_LOG_WARNING, "device-unhealthy", &about,
				     "%s: unhealthy in %s: %s", name, news->resource, problem);
	else
		rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "device-healthy", &about,
				     "%s: healthy in %s", name, news->resource);
}

/* Returns "ml/train-0, container main", or the allocation's ID until podresources lists it. */
static char *holder_name(const RdmadAllocation *allocation)
{
	if (!allocation->pod_name)
		return g_strdup_printf("allocation %s", allocation->id);
	return g_strdup_printf("%s/%s, %s%s", allocation->pod_namespace, allocation->pod_name,
			       allocation->container ? "container " : "an init container",
			       allocation->container ? allocation->container : "");
}

static void post_holder_news(const News *news, const RdmadAllocation *allocation)
{
	const char *problem = news->device->health.problem, *name = device_name(news->device);
	g_autofree char *pod = NULL, *holder = holder_name(allocation);
	RdmadLogFields about = { .device = news->device->id,
				 .resource = news->resource,
				 .allocation = allocation->id };

	if (allocation->pod_name)
		about.pod = pod =
			g_strdup_printf("%s/%s", allocation->pod_namespace, allocation->pod_name);
	if (problem)
		rdmad_event_log_post(news->event_log, RDMAD_LOG_WARNING,
				     "allocation-device-unhealthy", &about,
				     "%s has %s of %s, which is unhealthy: %s", holder, name,
				     news->resource, problem);
	else
		rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "allocation-device-healthy",
				     &about, "%s has %s of %s, which is healthy again", holder,
				     name, news->resource);
}

static gboolean post_holder(const RdmadAllocation *allocation, gpointer data)
{
	News *news = data;

	if (g_str_equal(allocation->resource, news->resource) && news->n_holders++ < HOLDERS_MAX)
		post_holder_news(news, allocation);
	return FALSE;
}

static void post_other_holders(const News *news)
{
	const RdmadLogFields about = { .device = news->device->id, .resource = news->resource };

	rdmad_event_log_post(news->event_log, RDMAD_LOG_NOTICE, "allocation-device-more", &about,
			     "%s of %s is held by %u more containers", device_name(news->device),
			     news->resource, news->n_holders - HOLDERS_MAX);
}

static void post_health(const Resource *resource, News *news)
{
	post_device(news);
	rdmad_allocations_find_holder(rdmad_module_allocations(resource->self), news->device->id,
				      RDMAD_HOLD_ANY, post_holder, news);
	if (news->n_holders > HOLDERS_MAX)
		post_other_holders(news);
}

static void post_withheld(const News *news)
{
	const PoolDevice *device = news->device;
	const RdmadLogFields about = { .device = device->id, .resource = news->resource };

	/* A device takes a moment to return. */
	if (device->withheld)
		rdmad_event_log_post(news->event_log,
				     device->rival ? RDMAD_LOG_WARNING : RDMAD_LOG_INFO,
				     "device-withheld", &about, "%s: withheld in %s: %s",
				     device_name(device), news->resource, device->withheld);
	else
		rdmad_event_log_post(news->event_log, RDMAD_LOG_INFO, "device-released", &about,
				     "%s: no longer withheld in %s", device_name(device),
				     news->resource);
}

static void post_news(const PoolDevice *device, PoolNews what, gpointer data)
{
	const Resource *resource = data;
	News news = { rdmad_module_event_log(resource->self), device, resource_name(resource), 0 };

	switch (what) {
	case POOL_NEWS_HEALTH:
		post_health(resource, &news);
		break;
	case POOL_NEWS_WITHHELD:
		post_withheld(&news);
		break;
	}
}

/* ---- update ---- */

static void warn_cut(Resource *resource)
{
	const RdmadLogFields about = { .resource = resource_name(resource) };
	const gboolean cut = pool_is_cut(resource->pool);

	if (cut && !resource->cut_logged)
		rdmad_log_full(RDMAD_LOG_WARNING, &about,
			       "%s: count is too high for %u devices; only %u slots in all fit "
			       "into one message to kubelet, so each device has fewer",
			       about.resource, pool_device_count(resource->pool),
			       RESOURCE_SLOTS_MAX);
	resource->cut_logged = cut;
}

static void post_empty(Resource *resource)
{
	const gboolean empty = pool_device_count(resource->pool) == 0;
	const RdmadLogFields about = { .resource = resource_name(resource) };

	if (empty && !resource->empty_posted)
		rdmad_event_log_post(rdmad_module_event_log(resource->self), RDMAD_LOG_WARNING,
				     "resource-empty", &about,
				     "%s: no device is selected; `rdmad explain DEVICE` says which "
				     "selector refuses a device",
				     about.resource);
	resource->empty_posted = empty;
}

static PoolPlace place_of(RdmadInventory *inventory, const RdmadDevice *dev)
{
	if (rdmad_inventory_find_away(inventory, dev->id))
		return PLACE_POD;
	return rdmad_device_netdev_in_pod(dev) ? PLACE_INTERFACE_POD : PLACE_HOST;
}

static gboolean is_present(const char *device, gpointer data)
{
	return rdmad_inventory_lookup(data, device) != NULL;
}

gint64 resource_update(Resource *resource, GArray *members, const PluginSettings *plugin)
{
	g_autoptr(GArray) held = g_array_new(FALSE, FALSE, sizeof(HeldSlot));
	RdmadAllocations *allocations = rdmad_module_allocations(resource->self);
	RdmadInventory *inventory = rdmad_module_inventory(resource->self);
	Collection collection = { allocations, resource_name(resource), held };
	PoolView view = {
		.now_us = rdmad_now_us(),
		.health_delay_us = (gint64)plugin->health_delay_ms * 1000,
		.forget_us = (gint64)plugin->forget_delay_ms * 1000,
		.members = (const PoolMember *)(const void *)members->data,
		.n_members = members->len,
		.is_present = is_present,
		.data = inventory,
	};
	g_autoptr(GBytes) list = NULL;
	gint64 wait_us;

	for (guint i = 0; i < members->len; i++) {
		PoolMember *member = &g_array_index(members, PoolMember, i);

		member->rival = rival_of(resource, member->dev->id);
		member->place = place_of(inventory, member->dev);
	}
	rdmad_allocations_foreach(allocations, collect_allocation, &collection);
	view.held = (const HeldSlot *)(const void *)held->data;
	view.n_held = held->len;
	wait_us = pool_update(resource->pool, &view);
	list = device_list_pack(resource->pool, resource->list);
	/* Keeps the object if the contents are equal: the registration shares it. */
	if (!resource->list || !g_bytes_equal(resource->list, list)) {
		g_clear_pointer(&resource->list, g_bytes_unref);
		resource->list = g_bytes_ref(list);
	}
	registration_publish(resource->registration, resource->list);
	pool_take_news(resource->pool, post_news, resource);
	warn_cut(resource);
	post_empty(resource);
	return wait_us;
}

void resource_configure(Resource *resource, ResourceSettings *settings)
{
	pool_configure(resource->pool, settings);
}

/* ---- registration ---- */

void resource_kubelet_changed(Resource *resource)
{
	registration_kubelet_changed(resource->registration);
}

void resource_follow_options(Resource *resource)
{
	const gboolean wanted =
		pre_start_wanted(resource->shared->pre_start, pool_settings(resource->pool));

	if (resource->options_sent && resource->options.pre_start != wanted)
		registration_restart(resource->registration);
}

void resource_restart(Resource *resource)
{
	registration_restart(resource->registration);
}

void resource_drain(Resource *resource, void (*drained)(gpointer data), gpointer data)
{
	registration_drain(resource->registration, drained, data);
}

Resource *resource_new(const ResourceShared *shared, ResourceSettings *settings)
{
	Resource *resource = g_new0(Resource, 1);

	resource->shared = shared;
	resource->self = shared->self;
	resource->pool = pool_new(settings);
	resource->registration = registration_new(shared->self, shared->kubelet, settings->name,
						  &SERVER_OPS, resource);
	resolver_set(resource, TRUE);
	return resource;
}

void resource_free(Resource *resource)
{
	resolver_set(resource, FALSE);
	allocate_queue_drop(resource->shared->allocate_queue, resource);
	registration_free(resource->registration);
	g_clear_pointer(&resource->list, g_bytes_unref);
	pool_free(resource->pool);
	g_free(resource);
}

/* ---- status and doctor ---- */

void resource_count(const Resource *resource, ResourceCounts *counts)
{
	const RdmadAllocationTotals totals = rdmad_allocations_totals(
		rdmad_module_allocations(resource->self), resource_name(resource));
	RegistrationInfo info;

	registration_info(resource->registration, &info);
	*counts = (ResourceCounts){
		.slots = pool_slot_count(resource->pool),
		.allocated = totals.slots,
		.allocations = totals.allocations,
		.registered = info.registered ? 1 : 0,
	};
	counts->unhealthy = counts->slots - pool_healthy_count(resource->pool);
}

/* "mlx5_3: no port of it is active" */
static json_t *unhealthy_status(const Pool *pool)
{
	json_t *unhealthy = json_array();

	for (guint i = 0; i < pool_device_count(pool); i++) {
		const PoolDevice *device = pool_device(pool, i);

		const char *problem = pool_device_problem(device);

		if (problem)
			json_array_append_new(unhealthy,
					      json_sprintf("%s: %s", device_name(device), problem));
	}
	return unhealthy;
}

json_t *resource_status(const Resource *resource)
{
	const ResourceSettings *settings = pool_settings(resource->pool);
	RegistrationInfo info;
	ResourceCounts counts;

	registration_info(resource->registration, &info);
	resource_count(resource, &counts);
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:b, s:s, s:i, s:I, s:I, s:s?, s:o}",
			 "name", settings->name, "mode", resource_modes[settings->mode], "devices",
			 (int)pool_device_count(resource->pool), "slots",
			 (int)pool_slot_count(resource->pool), "healthy",
			 (int)pool_healthy_count(resource->pool), "allocated",
			 (int)counts.allocated, "registered", info.registered,
			 "registration_method",
			 info.method == REGISTRATION_REGISTRY ? "registry" : "legacy", "streams",
			 (int)info.streams, "allocations", (json_int_t)resource->allocations,
			 "refusals", (json_int_t)resource->refusals, "last_error", info.error,
			 "unhealthy", unhealthy_status(resource->pool));
}

static char *registration_problem(const RegistrationInfo *info)
{
	if (info->registered)
		return NULL;
	return g_strdup_printf("not registered at kubelet: %s",
			       info->error ? info->error : "kubelet has not called yet");
}

char *resource_problem(const Resource *resource)
{
	g_autofree char *problem = NULL;
	RegistrationInfo info;

	registration_info(resource->registration, &info);
	problem = registration_problem(&info);
	if (!problem)
		return NULL;
	return g_strdup_printf("%s: %s", resource_name(resource), problem);
}

gboolean resource_device_health(const Resource *resource, const char *id, const char **problem,
				const char **rest)
{
	const PoolDevice *device = pool_find_device(resource->pool, id);

	/* An absent one may be there for another resource. */
	if (!device || !device->dev)
		return FALSE;
	*problem = pool_device_problem(device);
	*rest = *problem ? NULL
			 : health_rest(device->dev, &pool_settings(resource->pool)->selector);
	return TRUE;
}

static const char *slots_advice(const Pool *pool)
{
	for (guint i = 0; i < pool_device_count(pool); i++)
		if (pool_device(pool, i)->withheld)
			return "pods still hold devices under another resource or mode, as `rdmad "
			       "status -v` shows; the devices are free when these pods end";
	return NULL;
}

void resource_doctor(const Resource *resource, json_t *findings)
{
	const char *name = resource_name(resource);
	g_autofree char *text = NULL;
	RegistrationInfo info;

	registration_info(resource->registration, &info);
	text = registration_problem(&info);
	if (text) {
		rdmad_doctor_add(
			findings, RDMAD_FINDING_PROBLEM, name, text,
			"see that kubelet runs and that its directory is the one rdmad looks "
			"at (--kubelet-dir)");
		return;
	}
	pre_start_doctor(resource->shared->pre_start, pool_settings(resource->pool), findings);
	text = g_strdup_printf("registered, %u of %u slots healthy",
			       pool_healthy_count(resource->pool), pool_slot_count(resource->pool));
	if (pool_device_count(resource->pool) == 0)
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, name, "no device is selected",
				 "`rdmad explain DEVICE` says which selector refuses a device");
	else
		rdmad_doctor_add(findings,
				 pool_healthy_count(resource->pool) ? RDMAD_FINDING_OK
								    : RDMAD_FINDING_PROBLEM,
				 name, text, slots_advice(resource->pool));
}
