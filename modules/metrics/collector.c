/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	Collector -> targets, one a device: its source, its last sample
 *	          -> requests -> slots, one a device: a sample, or the target that it waits for
 *
 * Devices are read a few at a time.  One that does not answer soon is slow from then on, and slow ones
 * have places of their own: a driver that hangs must not stand in the way of the others.
 */
#include "collector.h"

#include <rdmad/clock.h>
#include <rdmad/config.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>

#include "device-source.h"

#define FRESH_US   G_USEC_PER_SEC /* a reading that began so long ago is good for another */
#define SLOW_MS	   250u
#define PLACES	   8u /* of a lane at most */
#define PLACES_MIN 2u
#define PLACES_MAX 16u /* slow readings in all, with those that began as others */

/* Places for readings, and the targets that wait for one. */
typedef struct {
	GQueue waiting; /* Target */
	guint reading, places;
} Lane;

typedef struct {
	Collector *collector;
	DeviceSource *source;
	DeviceSample *sample; /* the last one, or NULL */
	gint64 began_us;      /* its reading, or the one under way */
	Lane *lane;	      /* slow or not; for a reading under way, where it has its place */
	GList node;	      /* in the lane's `waiting` */
	gboolean waiting;
	GPtrArray *slots; /* Slot that wait for the reading */
} Target;

typedef struct {
	CollectorRequest *request;
	Target *target; /* NULL: answered */
	DeviceSample *sample;
} Slot;

struct CollectorRequest {
	Collector *collector;
	GList node;
	Slot *slots;
	guint n_slots, missing;
	gint64 began_us, patience_us;
	RdmadEvent *end; /* the deadline, or the next turn of the loop once nothing is missing */
	CollectorFunc fn;
	gpointer data;
};

struct Collector {
	SourceContext context;
	GHashTable *targets; /* stable id -> Target */
	GQueue requests;     /* CollectorRequest */
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
	/* Not from here: `fn` may start or end other requests. */
	if (--request->missing == 0)
		rdmad_event_arm(request->end, 0);
}

/* `sample` NULL: the device has left, and is left out. */
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
	if (target->waiting || device_source_is_reading(target->source))
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

static void target_begin(Target *target)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DeviceSample) sample = NULL;

	target_stop_waiting(target);
	target->began_us = rdmad_now_us();
	if (device_source_read(target->source, &error)) {
		target->lane->reading++;
		return;
	}
	/* Earlier readings do not become fresh by this. */
	g_clear_pointer(&target->sample, device_sample_unref);
	sample = sample_failed(device_source_device(target->source), g_strdup(error->message));
	target_answer(target, sample);
}

static void lane_fill(Lane *lane)
{
	while (lane->reading < lane->places && lane->waiting.head)
		target_begin(lane->waiting.head->data);
}

static void collector_fill(Collector *collector)
{
	lane_fill(&collector->prompt);
	lane_fill(&collector->slow);
	if (collector->prompt.waiting.length && !rdmad_event_armed(collector->slow_check))
		rdmad_event_arm(collector->slow_check, SLOW_MS);
}

static void target_move(Target *target, Lane *lane)
{
	if (device_source_is_reading(target->source)) {
		target->lane->reading--;
		lane->reading++;
	}
	target->lane = lane;
}

/* Those that do not answer make room for others. */
static void collector_check_slow(gpointer data)
{
	Collector *collector = data;
	const gint64 since_us = rdmad_now_us() - SLOW_MS * 1000;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, collector->targets);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Target *target = value;

		if (target->lane == &collector->prompt && target->began_us <= since_us &&
		    device_source_is_reading(target->source) &&
		    collector->slow.reading < PLACES_MAX)
			target_move(target, &collector->slow);
	}
	collector_fill(collector);
}

/* ---- targets ---- */

static void target_read(DeviceSource *source, DeviceSample *sample, gpointer data)
{
	Target *target = data;
	Collector *collector = target->collector;
	const gint64 took_us = rdmad_now_us() - target->began_us;

	target->lane->reading--;
	target->lane = took_us > SLOW_MS * 1000 ? &collector->slow : &collector->prompt;
	g_clear_pointer(&target->sample, device_sample_unref);
	target->sample = sample;
	if (sample && collector->sample_fn)
		collector->sample_fn(sample, collector->sample_data);
	target_answer(target, sample);
	collector_fill(collector);
}

static Target *target_new(Collector *collector, const RdmadDevice *device)
{
	Target *target = g_new0(Target, 1);

	target->collector = collector;
	target->lane = &collector->prompt;
	target->node.data = target;
	target->slots = g_ptr_array_new();
	target->source = device_source_new(&collector->context, device, target_read, target);
	return target;
}

static void target_free(gpointer data)
{
	Target *target = data;

	target_stop_waiting(target);
	target_answer(target, NULL);
	if (device_source_is_reading(target->source))
		target->lane->reading--;
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
	return target->sample && !device_source_is_reading(target->source) &&
	       now_us - target->began_us <= FRESH_US;
}

static void device_removed(const RdmadDevice *device, gpointer data)
{
	Collector *collector = data;

	g_hash_table_remove(collector->targets, device->id);
	collector_fill(collector);
}

static const RdmadInventoryOps INVENTORY_OPS = { .removed = device_removed };

/* ---- requests ---- */

/* Devices without waiting requests are not read. */
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

static void request_end(gpointer data)
{
	CollectorRequest *request = data;
	g_autoptr(Snapshot) snapshot = request_snapshot(request);
	const CollectorFunc fn = request->fn;
	const gpointer fn_data = request->data;

	request_free(request);
	fn(snapshot, fn_data);
}

/* Else every request would last its whole time for as long as one device hangs. */
static gboolean target_is_overdue(const Target *target, const CollectorRequest *request)
{
	return device_source_is_reading(target->source) &&
	       request->began_us - target->began_us > request->patience_us;
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

/* ---- life ---- */

/* Reading takes time of processors, half of which are for others; slow ones only wait. */
static void lane_init(Lane *lane, guint places)
{
	g_queue_init(&lane->waiting);
	lane->places = places;
}

Collector *collector_new(RdmadModule *self, const MetricsSettings *settings)
{
	Collector *collector = g_new0(Collector, 1);

	collector->context.self = self;
	collector->context.settings = settings;
	collector->targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, target_free);
	g_queue_init(&collector->requests);
	lane_init(&collector->prompt, CLAMP(g_get_num_processors() / 2, PLACES_MIN, PLACES));
	lane_init(&collector->slow, PLACES);
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
	rdmad_event_free(collector->slow_check);
	g_clear_pointer(&collector->context.pods, pod_names_unref);
	g_free(collector);
}

void collector_watch(Collector *collector, CollectorWatch fn, gpointer data)
{
	collector->sample_fn = fn;
	collector->sample_data = data;
}

/* A device that is no longer taken keeps no reader. */
void collector_configure(Collector *collector, const MetricsSettings *settings)
{
	GHashTableIter iter;
	gpointer value;

	collector->context.settings = settings;
	g_hash_table_iter_init(&iter, collector->targets);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const Target *target = value;

		if (!rdmad_config_patterns_match(settings->devices,
						 device_source_device(target->source)->name))
			g_hash_table_iter_remove(&iter);
	}
	collector_fill(collector);
}
