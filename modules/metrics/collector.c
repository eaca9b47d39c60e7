/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	Collector -> targets, one a device: its source, its last sample
 *	          -> batches, one a job: the targets that it reads
 *	          -> requests -> slots, one a device: a sample, or the target that it waits for
 *
 * A batch reads many quick devices.  A device that does not respond within SLOW_MS is slow from
 * then on: the unread devices of its batch move to other batches, and each slow device gets a batch
 * of its own, in a separate lane.  So a hanging driver does not delay other devices.
 */
#include "collector.h"

#include <rdmad/clock.h>
#include <rdmad/config.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>

#include "batch.h"

#define FRESH_US   G_USEC_PER_SEC /* maximum age of a reading that another request may share */
#define SLOW_MS	   250u
#define HANG_US	   (2 * G_USEC_PER_SEC) /* the age of a reading whose device hangs */
#define PLACES	   8u			/* maximum of a lane, without hanging devices */
#define PLACES_MIN 2u
#define PLACES_MAX 16u /* maximum of slow batches, including those that became slow */
#define BATCH_MIN  16u /* fewer devices are not worth a second thread */
#define BATCH_MAX  32u /* bounds memory: until a batch ends, old and new readings exist */

/* Places for batches, and the targets that wait for a place. */
typedef struct {
	GQueue waiting; /* Target */
	guint reading, places;
	guint batch_min; /* minimum of devices in a batch; 0: one device per batch */
	/* A device hangs, and others may: use small batches until the lane is empty. */
	gboolean spread;
} Lane;

/* A batch and its lane. */
typedef struct {
	Batch *batch;
	Lane *lane;
	Collector *collector;
	GList node; /* in the collector's `places` */
} Place;

typedef struct {
	Collector *collector;
	DeviceSource *source;
	DeviceSample *sample; /* the last one, or NULL */
	/* Start of its reading; of its batch, until the reading has ended or is slow. */
	gint64 began_us;
	Lane *lane;   /* `prompt` or `slow` */
	Place *place; /* NULL: not in a batch */
	GList node;   /* in the lane's `waiting` */
	gboolean waiting;
	GPtrArray *slots; /* of Slot, which wait for the reading */
} Target;

typedef struct {
	CollectorRequest *request;
	Target *target; /* NULL: no longer waiting */
	DeviceSample *sample;
} Slot;

struct CollectorRequest {
	Collector *collector;
	GList node;
	Slot *slots;
	guint n_slots, missing;
	gint64 began_us, patience_us;
	RdmadEvent *end; /* the deadline, or at once on the loop when no sample is missing */
	CollectorFunc fn;
	gpointer data;
};

struct Collector {
	SourceContext context;
	GHashTable *targets; /* stable id -> Target */
	GQueue requests;     /* CollectorRequest */
	GQueue places;	     /* Place */
	Lane prompt, slow;
	RdmadEvent *slow_check;
	RdmadWatch *watch;
	CollectorWatch sample_fn;
	gpointer sample_data;
};

/* ---- slots ---- */

static void slot_answer(Slot *slot, DeviceSample *sample)
{
	CollectorRequest *request = slot->request;

	slot->target = NULL;
	slot->sample = sample ? device_sample_ref(sample) : NULL;
	/* Calls `fn` from the loop, because it may start or end other requests. */
	if (--request->missing == 0)
		rdmad_event_arm_for_turn(request->end);
}

/* `sample` NULL: the device was removed and is left out. */
static void target_answer(Target *target, DeviceSample *sample)
{
	for (guint i = 0; i < target->slots->len; i++)
		slot_answer(target->slots->pdata[i], sample);
	g_ptr_array_set_size(target->slots, 0);
}

static DeviceSample *sample_failed(const RdmadDevice *device, char *error)
{
	DeviceSample *sample = device_sample_new(device);

	sample->error = error;
	return sample;
}

/* ---- lanes ---- */

static void target_wait(Target *target)
{
	if (target->waiting || target->place)
		return;
	target->waiting = TRUE;
	g_queue_push_tail_link(&target->lane->waiting, &target->node);
}

static void target_stop_waiting(Target *target)
{
	if (target->waiting)
		g_queue_unlink(&target->lane->waiting, &target->node);
	target->waiting = FALSE;
}

/* Drops the last sample, which would count as fresh. */
static void target_fail(Target *target, const char *why)
{
	g_autoptr(DeviceSample) sample =
		sample_failed(device_source_device(target->source), g_strdup(why));

	g_clear_pointer(&target->sample, device_sample_unref);
	target_answer(target, sample);
}

static void target_read(gpointer member, DeviceSample *sample, gint64 began_us, gint64 took_us)
{
	Target *target = member;
	Collector *collector = target->collector;

	target->place = NULL;
	target->began_us = began_us;
	target->lane = took_us > SLOW_MS * 1000 ? &collector->slow : &collector->prompt;
	g_clear_pointer(&target->sample, device_sample_unref);
	target->sample = sample;
	if (sample)
		device_source_accept(target->source, sample);
	if (sample && collector->sample_fn)
		collector->sample_fn(sample, collector->sample_data);
	target_answer(target, sample);
}

static void target_withdrawn(gpointer member)
{
	Target *target = member;

	target->place = NULL;
	if (target->slots->len)
		target_wait(target);
}

/* ---- places ---- */

static void collector_fill(Collector *collector);

static void place_free(Place *place)
{
	place->lane->reading--;
	g_queue_unlink(&place->collector->places, &place->node);
	g_free(place);
}

/* The job, if it runs, goes on without the batch. */
static void place_drop(Place *place)
{
	batch_free(place->batch);
	place_free(place);
}

static void place_ended(Batch *batch, gpointer data)
{
	Place *place = data;
	Collector *collector = place->collector;

	place_free(place);
	collector_fill(collector);
}

static const BatchOps BATCH_OPS = {
	.read = target_read,
	.withdrawn = target_withdrawn,
	.ended = place_ended,
};

static Place *place_new(Collector *collector, Lane *lane)
{
	Place *place = g_new0(Place, 1);

	place->collector = collector;
	place->lane = lane;
	place->batch = batch_new(&BATCH_OPS, place);
	place->node.data = place;
	g_queue_push_tail_link(&collector->places, &place->node);
	lane->reading++;
	return place;
}

/* Returns the size of the next batch: the waiting targets are divided evenly, within limits. */
static guint lane_share(const Lane *lane)
{
	const guint free = lane->places - lane->reading;
	const guint least = lane->spread ? 1 : lane->batch_min;

	if (!lane->batch_min)
		return 1;
	return CLAMP((lane->waiting.length + free - 1) / free, least, BATCH_MAX);
}

static void lane_begin(Lane *lane, Collector *collector)
{
	const guint share = lane_share(lane);
	g_autoptr(GPtrArray) targets = g_ptr_array_new();
	g_autoptr(GError) error = NULL;
	Place *place = place_new(collector, lane);

	while (targets->len < share && lane->waiting.head) {
		Target *target = lane->waiting.head->data;

		target_stop_waiting(target);
		target->place = place;
		target->began_us = rdmad_now_us();
		batch_add(place->batch, target->source, target);
		g_ptr_array_add(targets, target);
	}
	if (batch_start(place->batch, collector->context.self, &error))
		return;
	place_drop(place);
	for (guint i = 0; i < targets->len; i++) {
		Target *target = targets->pdata[i];

		target->place = NULL;
		target_fail(target, error->message);
	}
}

/* Returns the number of slow batches whose device has not responded for so long that they take no
 * turn from a device that is only slow. */
static guint collector_hanging(const Collector *collector)
{
	guint n = 0;

	for (const GList *node = collector->places.head; node; node = node->next) {
		const Place *place = node->data;
		gint64 began_us = rdmad_now_us() - HANG_US;
		gpointer member;

		if (place->lane == &collector->slow &&
		    batch_is_slow(place->batch, &began_us, &member))
			n++;
	}
	return n;
}

static void lane_fill(Lane *lane, Collector *collector, guint places)
{
	while (lane->reading < places && lane->waiting.head)
		lane_begin(lane, collector);
}

static void collector_fill(Collector *collector)
{
	lane_fill(&collector->prompt, collector, collector->prompt.places);
	lane_fill(&collector->slow, collector,
		  MIN(collector->slow.places + collector_hanging(collector), PLACES_MAX));
	if (!collector->prompt.reading) {
		collector->prompt.spread = FALSE;
		rdmad_event_disarm(collector->slow_check);
	} else if (!rdmad_event_armed(collector->slow_check)) {
		rdmad_event_arm(collector->slow_check, SLOW_MS);
	}
}

/* Handles a slow device: the devices behind it move to other batches, and its batch moves to the
 * slow lane. */
static void place_check_slow(Place *place, gint64 began_us)
{
	Collector *collector = place->collector;
	gpointer member;
	Target *slow;

	batch_harvest(place->batch);
	if (!batch_is_slow(place->batch, &began_us, &member))
		return;
	batch_withdraw(place->batch);
	collector->prompt.spread = TRUE;
	slow = member;
	if (slow) {
		slow->lane = &collector->slow;
		slow->began_us = began_us;
	}
	if (collector->slow.reading >= PLACES_MAX)
		return;
	place->lane->reading--;
	place->lane = &collector->slow;
	place->lane->reading++;
}

static void collector_check_slow(gpointer data)
{
	Collector *collector = data;
	const gint64 since_us = rdmad_now_us() - SLOW_MS * 1000;

	for (GList *node = collector->places.head; node; node = node->next) {
		Place *place = node->data;

		if (place->lane == &collector->prompt)
			place_check_slow(place, since_us);
	}
	collector_fill(collector);
}

/* Removes the target from its batch, whose job may still run. */
static void target_leave_batch(Target *target)
{
	Place *place = g_steal_pointer(&target->place);

	if (place && batch_drop(place->batch, target))
		place_drop(place);
}

/* ---- targets ---- */

static Target *target_new(Collector *collector, const RdmadDevice *device)
{
	Target *target = g_new0(Target, 1);

	target->collector = collector;
	target->lane = &collector->prompt;
	target->node.data = target;
	target->slots = g_ptr_array_new();
	target->source = device_source_new(&collector->context, device);
	return target;
}

static void target_free(gpointer data)
{
	Target *target = data;

	target_stop_waiting(target);
	target_answer(target, NULL);
	target_leave_batch(target);
	device_source_free(target->source);
	g_clear_pointer(&target->sample, device_sample_unref);
	g_ptr_array_unref(target->slots);
	g_free(target);
}

static Target *target_get(Collector *collector, const RdmadDevice *device)
{
	Target *target = g_hash_table_lookup(collector->targets, device->id);

	if (target) {
		device_source_follow(target->source, device);
		return target;
	}
	target = target_new(collector, device);
	g_hash_table_insert(collector->targets, g_strdup(device->id), target);
	return target;
}

static gboolean target_is_fresh(const Target *target, gint64 now_us)
{
	return target->sample && !target->place && now_us - target->began_us <= FRESH_US;
}

static void device_removed(const RdmadDevice *device, gpointer data)
{
	Collector *collector = data;

	g_hash_table_remove(collector->targets, device->id);
	collector_fill(collector);
}

static const RdmadInventoryOps INVENTORY_OPS = { .removed = device_removed };

/* ---- requests ---- */

/* A device without waiting requests is not read. */
static void slot_leave(Slot *slot)
{
	Target *target = slot->target;

	if (!target)
		return;
	g_ptr_array_remove_fast(target->slots, slot);
	if (!target->slots->len)
		target_stop_waiting(target);
}

static void request_free(CollectorRequest *request)
{
	for (guint i = 0; i < request->n_slots; i++) {
		Slot *slot = &request->slots[i];

		slot_leave(slot);
		g_clear_pointer(&slot->sample, device_sample_unref);
	}
	g_queue_unlink(&request->collector->requests, &request->node);
	rdmad_event_free(request->end);
	g_free(request->slots);
	g_free(request);
}

static DeviceSample *target_late(const Target *target, gint64 waited_us)
{
	return sample_failed(
		device_source_device(target->source),
		g_strdup_printf("no answer in %.1f s", waited_us / (double)G_USEC_PER_SEC));
}

static Snapshot *request_snapshot(const CollectorRequest *request)
{
	const gint64 waited_us = rdmad_now_us() - request->began_us;
	const Collector *collector = request->collector;
	Snapshot *snapshot = snapshot_new();

	snapshot->names = collector->context.settings->names;
	snapshot->what = metrics_settings_what(collector->context.settings);
	snapshot->gids = collector->context.settings->gids;
	snapshot->time_us = request->began_us;
	snapshot->seconds = waited_us / (double)G_USEC_PER_SEC;
	for (guint i = 0; i < request->n_slots; i++) {
		const Slot *slot = &request->slots[i];

		if (slot->target)
			g_ptr_array_add(snapshot->devices, target_late(slot->target, waited_us));
		else if (slot->sample)
			g_ptr_array_add(snapshot->devices, device_sample_ref(slot->sample));
	}
	return snapshot;
}

static void collector_harvest(Collector *collector)
{
	for (GList *node = collector->places.head; node; node = node->next)
		batch_harvest(((Place *)node->data)->batch);
}

static void request_end(gpointer data)
{
	CollectorRequest *request = data;
	g_autoptr(Snapshot) snapshot = NULL;
	const CollectorFunc fn = request->fn;
	const gpointer fn_data = request->data;

	/* At the deadline a batch may have read devices that it has not delivered. */
	if (request->missing)
		collector_harvest(request->collector);
	snapshot = request_snapshot(request);
	request_free(request);
	fn(snapshot, fn_data);
}

/* Does not wait again for a hanging device: each request would last until its deadline. */
static gboolean target_is_overdue(const Target *target, const CollectorRequest *request)
{
	return target->place && request->began_us - target->began_us > request->patience_us;
}

static void request_fill_slot(CollectorRequest *request, const RdmadDevice *device)
{
	Slot *slot = &request->slots[request->n_slots++];
	Target *target = target_get(request->collector, device);

	slot->request = request;
	if (target_is_fresh(target, request->began_us)) {
		slot->sample = device_sample_ref(target->sample);
		return;
	}
	if (target_is_overdue(target, request)) {
		slot->sample = target_late(target, request->began_us - target->began_us);
		return;
	}
	slot->target = target;
	request->missing++;
	g_ptr_array_add(target->slots, slot);
	target_wait(target);
}

static void request_fill(CollectorRequest *request)
{
	Collector *collector = request->collector;
	RdmadInventory *inventory = rdmad_module_inventory(collector->context.self);
	const guint n = rdmad_inventory_count(inventory);

	request->slots = g_new0(Slot, n + 1);
	for (guint i = 0; i < n; i++) {
		const RdmadDevice *device = rdmad_inventory_nth(inventory, i);

		if (rdmad_config_patterns_match(collector->context.settings->devices, device->name))
			request_fill_slot(request, device);
	}
}

CollectorRequest *collector_request(Collector *collector, guint deadline_ms, CollectorFunc fn,
				    gpointer data)
{
	CollectorRequest *request = g_new0(CollectorRequest, 1);

	request->collector = collector;
	request->node.data = request;
	request->fn = fn;
	request->data = data;
	request->began_us = rdmad_now_us();
	request->patience_us = deadline_ms * (gint64)1000;
	request->end = rdmad_loop_add_timer(rdmad_module_loop(collector->context.self),
					    collector->context.self, request_end, request);
	g_queue_push_tail_link(&collector->requests, &request->node);
	request_fill(request);
	rdmad_event_arm(request->end, request->missing ? deadline_ms : 0);
	collector_fill(collector);
	return request;
}

void collector_request_cancel(CollectorRequest *request)
{
	if (request)
		request_free(request);
}

/* ---- life cycle ---- */

/* Quick devices use at most half of the CPUs; slow devices wait more than they compute. */
static void lane_init(Lane *lane, guint places, guint batch_min)
{
	g_queue_init(&lane->waiting);
	lane->places = places;
	lane->batch_min = batch_min;
}

Collector *collector_new(RdmadModule *self, const MetricsSettings *settings)
{
	Collector *collector = g_new0(Collector, 1);

	collector->context.self = self;
	collector->context.settings = settings;
	collector->targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, target_free);
	collector->context.budget = rdmad_file_budget_new(settings->open_files);
	g_queue_init(&collector->requests);
	g_queue_init(&collector->places);
	lane_init(&collector->prompt, CLAMP(g_get_num_processors() / 2, PLACES_MIN, PLACES),
		  BATCH_MIN);
	lane_init(&collector->slow, PLACES, 0);
	collector->slow_check = rdmad_loop_add_timer(rdmad_module_loop(self), self,
						     collector_check_slow, collector);
	collector->watch = rdmad_inventory_watch(rdmad_module_inventory(self), self, &INVENTORY_OPS,
						 collector);
	return collector;
}

void collector_free(Collector *collector)
{
	if (!collector)
		return;
	g_assert(!collector->requests.head);
	rdmad_watch_free(collector->watch);
	g_hash_table_unref(collector->targets);
	while (collector->places.head)
		place_drop(collector->places.head->data);
	rdmad_event_free(collector->slow_check);
	g_clear_pointer(&collector->context.pods, pod_names_unref);
	rdmad_file_budget_unref(collector->context.budget);
	g_free(collector);
}

void collector_watch(Collector *collector, CollectorWatch fn, gpointer data)
{
	collector->sample_fn = fn;
	collector->sample_data = data;
}

/* Frees the readers of devices that are no longer selected. */
void collector_configure(Collector *collector, const MetricsSettings *settings)
{
	GHashTableIter iter;
	gpointer value;

	collector->context.settings = settings;
	rdmad_file_budget_set_max(collector->context.budget, settings->open_files);
	g_hash_table_iter_init(&iter, collector->targets);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const Target *target = value;

		if (!rdmad_config_patterns_match(settings->devices,
						 device_source_device(target->source)->name))
			g_hash_table_iter_remove(&iter);
	}
	collector_fill(collector);
}
