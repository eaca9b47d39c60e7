/* SPDX-License-Identifier: Apache-2.0 */
#include "service/inventory-private.h"

#include <rdmad/device.h>
#include <rdmad/event-log.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/watch.h"
#include "hardware/device.h"
#include "service/port-history.h"

struct RdmadInventory {
	GPtrArray *devices; /* sorted by id */
	GPtrArray *gpus;
	GHashTable *by_id, *by_name; /* borrow from `devices` */
	GHashTable *fatal;	     /* id -> RDMA index of devices with a fatal error */
	GPtrArray *reported;	     /* the devices as reported to watchers */
	GPtrArray *retired;	     /* lists that callers may have borrowed from in this turn */
	gboolean has_scan;	     /* the first scan has ended */
	gboolean news;		     /* changes, or the first scan, since `watches` were notified */
	gboolean scanned;	     /* a scan has ended since `scans` were notified */
	RdmadPortHistory *history;
	RdmadAwayTable *away; /* NULL: no device is away */
	gboolean can_move;    /* RDMA namespaces are exclusive */
	RdmadEventLog *event_log;
	RdmadWatchList watches, scans;
};

typedef struct {
	const RdmadDevice *before; /* NULL: added */
	const RdmadDevice *now;	   /* NULL: removed */
} Change;

/* ---- the difference between two scans ---- */

static void change_clear(gpointer data)
{
	Change *change = data;

	g_clear_pointer(&change->before, rdmad_device_unref);
	g_clear_pointer(&change->now, rdmad_device_unref);
}

static GArray *changes_new(void)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(Change));

	g_array_set_clear_func(changes, change_clear);
	return changes;
}

static void change_append(GArray *changes, const RdmadDevice *before, const RdmadDevice *now)
{
	const Change change = { before ? rdmad_device_ref(before) : NULL,
				now ? rdmad_device_ref(now) : NULL };

	g_array_append_val(changes, change);
}

/* Returns a negative number if the next device of `before` is not in `now`, a positive one if
 * the next device of `now` is not in `before`, else 0. */
static int next_compare(const GPtrArray *before, guint b, const GPtrArray *now, guint n)
{
	const RdmadDevice *old, *new;

	if (b == before->len || n == now->len)
		return b == before->len ? 1 : -1;
	old = g_ptr_array_index(before, b);
	new = g_ptr_array_index(now, n);
	return rdmad_natural_compare(old->id, new->id);
}

static void devices_diff(const GPtrArray *before, const GPtrArray *now, gboolean removed,
			 GArray *changes)
{
	guint b = 0, n = 0;

	while (b < before->len || n < now->len) {
		const int order = next_compare(before, b, now, n);
		const RdmadDevice *old = order <= 0 ? before->pdata[b++] : NULL;
		const RdmadDevice *new = order >= 0 ? now->pdata[n++] : NULL;

		/* An unchanged device is the same object. */
		if (removed != !new || old == new || (old && new &&rdmad_device_equal(old, new)))
			continue;
		change_append(changes, old, new);
	}
}

/* Both arrays are sorted by id.  Removals come first, because an added device may have the name
 * of a removed one. */
static GArray *inventory_diff(const GPtrArray *before, const GPtrArray *now)
{
	GArray *changes = changes_new();

	devices_diff(before, now, TRUE, changes);
	devices_diff(before, now, FALSE, changes);
	return changes;
}

static void post_port_state(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
			    gboolean same_use, const RdmadLogFields *about,
			    RdmadEventLog *event_log)
{
	const RdmadLogLevel level =
		now->state == RDMAD_PORT_ACTIVE || !same_use ? RDMAD_LOG_NOTICE : RDMAD_LOG_WARNING;

	rdmad_event_log_post(event_log, level, "port-state", about, "%s port %u: %s -> %s",
			     dev->name, now->number, rdmad_port_state_name(old->state),
			     rdmad_port_state_name(now->state));
}

/* A device that was removed and added again counts from 0. */
static guint64 changes_between(const RdmadPort *old, const RdmadPort *now)
{
	return now->transitions - MIN(old->transitions, now->transitions);
}

/* Posts also for a port that has returned to its old state, because no other event shows the
 * flap. */
static void post_flap(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
		      const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const guint64 n = changes_between(old, now);
	const char *what = "went up and down";

	if (old->state == now->state)
		what = now->state == RDMAD_PORT_ACTIVE ? "went down and came back"
						       : "came up and went down again";
	rdmad_event_log_post(event_log, RDMAD_LOG_WARNING, "port-flap", about,
			     "%s port %u: %s, %" G_GUINT64_FORMAT " changes between two scans",
			     dev->name, now->number, what, n);
}

/* Returns TRUE if an event was posted. */
static gboolean post_port(const Change *change, const RdmadPort *old, const RdmadPort *now,
			  const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const RdmadDevice *dev = change->now;
	const gboolean same_use = rdmad_port_history_is_same_use(change->before, old, dev, now);
	const gboolean state = old->state != now->state;
	const gboolean flap = same_use && changes_between(old, now) > 1;
	const gboolean gids = !rdmad_port_gids_equal(old, now);

	if (state)
		post_port_state(dev, old, now, same_use, about, event_log);
	if (flap)
		post_flap(dev, old, now, about, event_log);
	if (gids)
		rdmad_event_log_post(event_log, RDMAD_LOG_INFO, "gid-table", about,
				     "%s port %u: GID table changed, %u -> %u entries", dev->name,
				     now->number, old->n_gids, now->n_gids);
	return state || flap || gids;
}

/* Returns the number of ports with an event. */
static guint post_ports(const Change *change, const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const RdmadDevice *now = change->now;
	guint posted = 0;

	for (guint i = 0; i < now->n_ports; i++) {
		const RdmadPort *old = rdmad_device_port(change->before, now->ports[i].number);

		if (old)
			posted += post_port(change, old, &now->ports[i], about, event_log);
	}
	return posted;
}

static void post_changed(const Change *change, const RdmadLogFields *about,
			 RdmadEventLog *event_log)
{
	const RdmadDevice *before = change->before, *now = change->now;
	guint posted = post_ports(change, about, event_log);

	if (strcmp(before->name, now->name) != 0) {
		rdmad_event_log_post(event_log, RDMAD_LOG_NOTICE, "device-renamed", about,
				     "%s is %s now", before->name, now->name);
		posted++;
	}
	if (now->fatal && !before->fatal) {
		rdmad_event_log_post(event_log, RDMAD_LOG_ERR, "device-fatal", about,
				     "%s: its driver reports a fatal error", now->name);
		posted++;
	}
	/* Other changes (interfaces, addresses) are frequent and minor. */
	if (!posted)
		rdmad_event_log_post(event_log, RDMAD_LOG_DEBUG, "device-changed", about, "%s",
				     now->name);
}

/* Posts a change to the event log. */
static void inventory_change_post(const Change *change, RdmadInventory *inv)
{
	const RdmadDevice *dev = change->now ? change->now : change->before;
	RdmadEventLog *event_log = inv->event_log;
	const RdmadAwayDevice *away = rdmad_inventory_find_away(inv, dev->id);
	const RdmadLogFields about = { .device = dev->id,
				       .allocation = away ? away->allocation : NULL };

	if (!change->now && away)
		rdmad_event_log_post(event_log, RDMAD_LOG_INFO, "device-in-pod", &about,
				     "%s is in the pod that it was given to", dev->name);
	else if (!change->now)
		rdmad_event_log_post(event_log, RDMAD_LOG_WARNING, "device-removed", &about, "%s",
				     dev->name);
	else if (!change->before)
		rdmad_event_log_post(event_log, RDMAD_LOG_INFO, "device-added", &about,
				     "%s (%s), %u %s", dev->name,
				     dev->driver ? dev->driver : "driver unknown", dev->n_ports,
				     dev->n_ports == 1 ? "port" : "ports");
	else
		post_changed(change, &about, event_log);
}

static void device_release(gpointer dev)
{
	rdmad_device_unref(dev);
}

static void gpu_release(gpointer gpu)
{
	rdmad_gpu_free(gpu);
}

static GPtrArray *devices_new(void)
{
	return g_ptr_array_new_with_free_func(device_release);
}

static void ptr_array_release(gpointer array)
{
	g_ptr_array_unref(array);
}

static void watch_notify(RdmadWatch *watch, gconstpointer item, gpointer service)
{
	const RdmadInventoryOps *ops = watch->ops;
	const Change *change = item;

	if (!change->now) {
		if (ops->removed)
			ops->removed(change->before, watch->data);
	} else if (!change->before) {
		if (ops->added)
			ops->added(change->now, watch->data);
	} else if (ops->changed) {
		ops->changed(change->before, change->now, watch->data);
	}
}

static void watch_settled(RdmadWatch *watch)
{
	const RdmadInventoryOps *ops = watch->ops;

	if (ops->settled)
		ops->settled(watch->data);
}

static GArray *inventory_take_news(gpointer service)
{
	RdmadInventory *inv = service;
	g_autoptr(GPtrArray) before = g_steal_pointer(&inv->reported);

	inv->reported = g_ptr_array_ref(inv->devices);
	g_ptr_array_set_size(inv->retired, 0);
	if (!inv->news)
		return NULL;
	inv->news = FALSE;
	return inventory_diff(before, inv->devices);
}

/* Returns NULL before the first scan, after which the watches are notified. */
static GArray *inventory_list(gpointer service)
{
	const RdmadInventory *inv = service;
	GArray *all;

	if (!inv->has_scan)
		return NULL;
	all = changes_new();
	for (guint i = 0; i < inv->devices->len; i++)
		change_append(all, NULL, inv->devices->pdata[i]);
	return all;
}

static const RdmadNotifierClass inventory_notifier = {
	.take_news = inventory_take_news,
	.list = inventory_list,
	.notify = watch_notify,
	.settled = watch_settled,
};

/* ---- scans ---- */

/* The item is a dummy, because the end of a scan has no data. */
static GArray *scans_one(void)
{
	GArray *one = g_array_new(FALSE, TRUE, sizeof(guint));

	return g_array_set_size(one, 1);
}

static GArray *scans_take_news(gpointer service)
{
	RdmadInventory *inv = service;
	const gboolean scanned = inv->scanned;

	inv->scanned = FALSE;
	return scanned ? scans_one() : NULL;
}

static GArray *scans_list(gpointer service)
{
	const RdmadInventory *inv = service;

	return inv->has_scan ? scans_one() : NULL;
}

static void scans_notify(RdmadWatch *watch, gconstpointer item, gpointer service)
{
	const RdmadScanOps *ops = watch->ops;

	ops->scanned(watch->data);
}

static const RdmadNotifierClass scans_notifier = {
	.take_news = scans_take_news,
	.list = scans_list,
	.notify = scans_notify,
};

RdmadInventory *rdmad_inventory_new(RdmadLoop *loop, RdmadEventLog *event_log)
{
	RdmadInventory *inv = g_new0(RdmadInventory, 1);

	inv->devices = devices_new();
	inv->reported = devices_new();
	inv->gpus = g_ptr_array_new();
	inv->retired = g_ptr_array_new_with_free_func(ptr_array_release);
	inv->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	inv->by_name = g_hash_table_new(g_str_hash, g_str_equal);
	inv->fatal = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	inv->history = rdmad_port_history_new();
	inv->event_log = event_log;
	rdmad_watch_list_init_notifier(&inv->watches, loop, &inventory_notifier, inv);
	rdmad_watch_list_init_notifier(&inv->scans, loop, &scans_notifier, inv);
	return inv;
}

void rdmad_inventory_free(RdmadInventory *inv)
{
	if (!inv)
		return;
	rdmad_watch_list_clear(&inv->watches);
	rdmad_watch_list_clear(&inv->scans);
	g_hash_table_unref(inv->by_id);
	g_hash_table_unref(inv->by_name);
	g_hash_table_unref(inv->fatal);
	rdmad_port_history_free(inv->history);
	g_ptr_array_unref(inv->devices);
	g_ptr_array_unref(inv->reported);
	g_ptr_array_unref(inv->gpus);
	g_ptr_array_unref(inv->retired);
	g_free(inv);
}

static void changes_post(const GArray *changes, RdmadInventory *inv)
{
	for (guint i = 0; i < changes->len; i++)
		inventory_change_post(&g_array_index(changes, Change, i), inv);
}

static void inventory_index(RdmadInventory *inv)
{
	g_hash_table_remove_all(inv->by_id);
	g_hash_table_remove_all(inv->by_name);
	for (guint i = 0; i < inv->devices->len; i++) {
		RdmadDevice *dev = g_ptr_array_index(inv->devices, i);

		g_hash_table_insert(inv->by_id, dev->id, dev);
		g_hash_table_insert(inv->by_name, dev->name, dev);
	}
}

/* `devices` must be sorted by id. */
static void inventory_publish(RdmadInventory *inv, GPtrArray *devices)
{
	g_autoptr(GArray) changes = inventory_diff(inv->devices, devices);

	changes_post(changes, inv);
	g_ptr_array_add(inv->retired, inv->devices);
	inv->devices = devices;
	inventory_index(inv);
	if (changes->len || !inv->has_scan)
		inv->news = TRUE;
	/* Needed without news too, because the next turn frees the retired lists. */
	rdmad_watch_list_news(&inv->watches);
}

static gint device_compare(gconstpointer a, gconstpointer b)
{
	const RdmadDevice *x = *(const RdmadDevice *const *)a;
	const RdmadDevice *y = *(const RdmadDevice *const *)b;

	return rdmad_natural_compare(x->id, y->id);
}

/* Returns whether the device has a fatal error and still has the same index. */
static gboolean is_fatal_in(GHashTable *fatal, const RdmadDevice *dev)
{
	gpointer index;

	return g_hash_table_lookup_extended(fatal, dev->id, NULL, &index) &&
	       GPOINTER_TO_INT(index) == dev->index;
}

/* Drops devices that were removed, or that have a new index because the driver started again. */
static void fatal_update(RdmadInventory *inv, GPtrArray *devices)
{
	g_autoptr(GHashTable) old = g_steal_pointer(&inv->fatal);

	inv->fatal = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < devices->len; i++) {
		RdmadDevice *dev = g_ptr_array_index(devices, i);

		if (!is_fatal_in(old, dev))
			continue;
		dev->fatal = TRUE;
		g_hash_table_insert(inv->fatal, g_strdup(dev->id), GINT_TO_POINTER(dev->index));
	}
}

static void devices_carry(RdmadInventory *inv, GPtrArray *devices)
{
	for (guint i = 0; i < devices->len; i++) {
		RdmadDevice *dev = g_ptr_array_index(devices, i);
		const RdmadDevice *last = g_hash_table_lookup(inv->by_id, dev->id);

		rdmad_port_history_carry(inv->history, last, dev);
		if (inv->away)
			rdmad_away_set_ports(inv->away, last, dev);
	}
}

void rdmad_inventory_expect_events(RdmadInventory *inv, const char *id)
{
	rdmad_port_history_expect_events(inv->history, id);
}

void rdmad_inventory_port_event(RdmadInventory *inv, const char *id, guint port, gboolean active)
{
	const RdmadDevice *dev = g_hash_table_lookup(inv->by_id, id);

	if (dev && rdmad_device_port(dev, port))
		rdmad_port_history_event(inv->history, id, port, active);
}

void rdmad_inventory_holder_changed(RdmadInventory *inv, const char *id)
{
	const RdmadDevice *dev = g_hash_table_lookup(inv->by_id, id);

	if (dev)
		rdmad_port_history_holder_changed(inv->history, dev);
}

void rdmad_inventory_begin_scan(RdmadInventory *inv)
{
	rdmad_port_history_begin_scan(inv->history);
}

/* Keeps the previous object for each unchanged device. */
static void devices_reuse(RdmadInventory *inv, GPtrArray *devices)
{
	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = g_ptr_array_index(devices, i);
		const RdmadDevice *old = g_hash_table_lookup(inv->by_id, dev->id);

		if (!old || !rdmad_device_equal(old, dev))
			continue;
		g_ptr_array_index(devices, i) = (gpointer)rdmad_device_ref(old);
		rdmad_device_unref(dev);
	}
}

/* Removes duplicates: a scan may find a device twice although the kernel has it once. */
static void devices_unique(GPtrArray *devices)
{
	for (guint i = devices->len; i-- > 1;) {
		const RdmadDevice *dev = g_ptr_array_index(devices, i);
		const RdmadDevice *previous = g_ptr_array_index(devices, i - 1);

		if (rdmad_natural_compare(dev->id, previous->id) == 0)
			g_ptr_array_remove_index(devices, i);
	}
}

static void inventory_scanned(RdmadInventory *inv, GPtrArray *devices)
{
	if (inv->away && rdmad_away_scanned(inv->away, inv->devices, devices, inv->can_move))
		inv->news = TRUE;
	inventory_publish(inv, devices);
	inv->has_scan = inv->scanned = TRUE;
	rdmad_watch_list_news(&inv->scans);
}

void rdmad_inventory_replace(RdmadInventory *inv, GPtrArray *devices, GPtrArray *gpus)
{
	g_ptr_array_set_free_func(devices, device_release);
	g_ptr_array_sort(devices, device_compare);
	devices_unique(devices);
	fatal_update(inv, devices);
	devices_carry(inv, devices);
	rdmad_port_history_end_scan(inv->history);
	devices_reuse(inv, devices);
	if (gpus) {
		g_ptr_array_set_free_func(gpus, gpu_release);
		g_ptr_array_add(inv->retired, inv->gpus);
		inv->gpus = gpus;
	}
	inventory_scanned(inv, devices);
}

static const RdmadDevice *find_id(const GPtrArray *devices, const char *id)
{
	for (guint i = 0; i < devices->len; i++)
		if (g_str_equal(((const RdmadDevice *)devices->pdata[i])->id, id))
			return devices->pdata[i];
	return NULL;
}

void rdmad_inventory_update(RdmadInventory *inv, GPtrArray *found)
{
	GPtrArray *devices = devices_new();

	g_ptr_array_set_free_func(found, device_release);
	for (guint i = 0; i < found->len; i++) {
		RdmadDevice *dev = g_ptr_array_index(found, i);

		dev->fatal |= is_fatal_in(inv->fatal, dev);
	}
	devices_carry(inv, found);
	devices_reuse(inv, found);
	for (guint i = 0; i < inv->devices->len; i++) {
		const RdmadDevice *old = g_ptr_array_index(inv->devices, i);
		const RdmadDevice *now = find_id(found, old->id);

		if (!now)
			rdmad_port_history_skip(inv->history, old);
		g_ptr_array_add(devices, (gpointer)rdmad_device_ref(now ? now : old));
	}
	rdmad_port_history_end_scan(inv->history);
	g_ptr_array_unref(found);
	inventory_scanned(inv, devices);
}

void rdmad_inventory_set_fatal(RdmadInventory *inv, const char *id)
{
	g_autoptr(GPtrArray) devices = NULL;
	guint index;
	RdmadDevice *dev = g_hash_table_lookup(inv->by_id, id);

	if (!dev || dev->fatal || !g_ptr_array_find(inv->devices, dev, &index))
		return;
	g_hash_table_insert(inv->fatal, g_strdup(dev->id), GINT_TO_POINTER(dev->index));
	devices = devices_new();
	for (guint i = 0; i < inv->devices->len; i++)
		g_ptr_array_add(devices,
				(gpointer)rdmad_device_ref(g_ptr_array_index(inv->devices, i)));
	dev = rdmad_device_copy(dev);
	dev->fatal = TRUE;
	rdmad_device_unref(g_ptr_array_index(devices, index));
	g_ptr_array_index(devices, index) = dev;
	inventory_publish(inv, g_steal_pointer(&devices));
}

guint rdmad_inventory_reap(RdmadInventory *inv, const RdmadModule *owner)
{
	return rdmad_watch_list_reap(&inv->watches, owner) +
	       rdmad_watch_list_reap(&inv->scans, owner);
}

const RdmadDevice *rdmad_inventory_lookup(RdmadInventory *inv, const char *id)
{
	return g_hash_table_lookup(inv->by_id, id);
}

const RdmadDevice *rdmad_inventory_lookup_name(RdmadInventory *inv, const char *name)
{
	return g_hash_table_lookup(inv->by_name, name);
}

const RdmadAwayDevice *rdmad_inventory_find_away(RdmadInventory *inv, const char *id)
{
	return inv->away ? rdmad_away_find(inv->away, id) : NULL;
}

void rdmad_inventory_foreach_away(RdmadInventory *inv,
				  void (*fn)(const RdmadAwayDevice *device, gpointer data),
				  gpointer data)
{
	if (inv->away)
		rdmad_away_foreach(inv->away, fn, data);
}

static void list_away(const RdmadAwayDevice *away, gpointer data)
{
	g_ptr_array_add(data, (gpointer)away->device);
}

GPtrArray *rdmad_inventory_list_everywhere(RdmadInventory *inv)
{
	GPtrArray *devices = g_ptr_array_new();

	for (guint i = 0; i < inv->devices->len; i++)
		g_ptr_array_add(devices, inv->devices->pdata[i]);
	rdmad_inventory_foreach_away(inv, list_away, devices);
	g_ptr_array_sort(devices, device_compare);
	return devices;
}

const RdmadDevice *rdmad_inventory_find_everywhere(RdmadInventory *inv, const char *name)
{
	const RdmadDevice *here =
		rdmad_inventory_lookup(inv, name) ?: rdmad_inventory_lookup_name(inv, name);
	g_autoptr(GPtrArray) devices = here ? NULL : rdmad_inventory_list_everywhere(inv);

	for (guint i = 0; !here && i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		if (g_str_equal(dev->id, name) || g_str_equal(dev->name, name))
			here = dev;
	}
	return here;
}

void rdmad_inventory_set_away(RdmadInventory *inv, RdmadAwayTable *away)
{
	inv->away = away;
}

void rdmad_inventory_set_can_move(RdmadInventory *inv, gboolean can_move)
{
	inv->can_move = can_move;
}

guint rdmad_inventory_count(RdmadInventory *inv)
{
	return inv->devices->len;
}

const RdmadDevice *rdmad_inventory_nth(RdmadInventory *inv, guint index)
{
	g_assert(index < inv->devices->len);
	return g_ptr_array_index(inv->devices, index);
}

guint rdmad_inventory_gpu_count(RdmadInventory *inv)
{
	return inv->gpus->len;
}

const RdmadGpu *rdmad_inventory_gpu(RdmadInventory *inv, guint index)
{
	g_assert(index < inv->gpus->len);
	return g_ptr_array_index(inv->gpus, index);
}

RdmadWatch *rdmad_inventory_watch(RdmadInventory *inv, RdmadModule *owner,
				  const RdmadInventoryOps *ops, gpointer data)
{
	return rdmad_watch_new(&inv->watches, owner, ops, data);
}

RdmadWatch *rdmad_inventory_watch_scans(RdmadInventory *inv, RdmadModule *owner,
					const RdmadScanOps *ops, gpointer data)
{
	return rdmad_watch_new(&inv->scans, owner, ops, data);
}
