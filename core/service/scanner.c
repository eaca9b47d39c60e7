/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hint -> (RDMAD_COALESCE_MS) -> scan, on a worker -> inventory.  One scan at a time; a hint during
 * a scan causes another one after it.  On a recorded machine the only hints are those of the API.
 *
 * A hint that names a device is a scan of that device: a port of 64 that goes down costs a 64th of
 * a scan. All are scanned after a hint without a name (messages were lost, a device came or left),
 * after a scan that failed, and when a device is not found where it was.  Each pod has interfaces
 * that belong to no device: these strangers cause no scan, nor do the changes that they cause in
 * their bridge.
 */
#define RDMAD_LOG_TOPIC "hardware"

#include "service/scanner.h"

#include <errno.h>
#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/attributes.h>
#include <rdmad/event-log.h>
#include <rdmad/log.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <string.h>

#include "base/loop.h"
#include "hardware/netlink/events.h"
#include "hardware/scan/netlink.h"
#include "hardware/scan/scan.h"
#include "hardware/verbs/gids.h"
#include "hardware/verbs/verbs.h"
#include "service/inventory-private.h"

/* Delay after a failed scan, doubled each time. */
#define RETRY_FIRST_MS 1000u
#define RETRY_LAST_MS  60000u
/* A longer scan probably waits for a hanging driver. */
#define SCAN_SLOW_MS 30000u

struct RdmadHardware {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	const RdmadSysroot *sysroot;
	RdmadInventory *inventory;
	RdmadAttributes *attributes;
	RdmadEventLog *event_log;
	RdmadKernelEvents *events; /* both NULL on a recorded machine */
	RdmadVerbs *verbs;
	RdmadEvent *timer;     /* the next scan, or the limit of the running one */
	RdmadJob *job;	       /* the running scan */
	gboolean hinted;       /* the timer is armed for a hint, not for a retry */
	gboolean whole;	       /* the next scan reads all devices ... */
	GHashTable *next;      /* ... or these (set of ids) */
	GHashTable *strangers; /* set of ifindexes: interfaces that belong to no device */
	GHashTable *bridges;   /* ifindex -> bridge_text() of the last message */
	GHashTable *heard;     /* interfaces without a scan that changed during the running one */
	guint retry_ms;	       /* 0: the last scan succeeded */
	char *problem;	       /* the error of the last scan, or that one takes too long; or NULL */
	gint64 began_us;       /* start of the running scan */
	RdmadStat *scans, *durations, *stale;
};

static const RdmadStatClass scans_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_hardware_scans",
	.help = "Scans of the hardware",
	.labels = { "result" },
};

static const RdmadStatClass durations_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_hardware_scan_duration_seconds",
	.unit = "seconds",
	.help = "Duration of a scan of the hardware",
	.bounds = (const double[]){ 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 0 },
};

static const RdmadStatClass stale_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_hardware_stale_devices",
	.help = "RDMA devices that the last scan could not read, and whose former values are used",
};

/* Input of a scan. */
typedef struct {
	const RdmadSysroot *sysroot;
	GPtrArray *before; /* RdmadDevice: the devices to scan, or all */
	gboolean whole;
	GPtrArray *open; /* RdmadVerbsOpen, or NULL */
} ScanInput;

static void device_unref(gpointer dev)
{
	rdmad_device_unref(dev);
}

/* Takes the devices of the hints since the last scan. */
static ScanInput *scan_input_new(RdmadHardware *hw)
{
	ScanInput *input = g_new0(ScanInput, 1);

	input->sysroot = hw->sysroot;
	/* A retry scans all devices, because any of them may have failed. */
	input->whole = hw->whole || hw->retry_ms || !g_hash_table_size(hw->next);
	input->before = g_ptr_array_new_with_free_func(device_unref);
	for (guint i = 0; i < rdmad_inventory_count(hw->inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(hw->inventory, i);

		if (input->whole || g_hash_table_contains(hw->next, dev->id))
			g_ptr_array_add(input->before, (gpointer)rdmad_device_ref(dev));
	}
	hw->whole = FALSE;
	g_hash_table_remove_all(hw->next);
	input->open = hw->verbs ? rdmad_verbs_open_devices(hw->verbs) : NULL;
	return input;
}

static void scan_input_free(gpointer data)
{
	ScanInput *input = data;

	g_ptr_array_unref(input->before);
	g_clear_pointer(&input->open, g_ptr_array_unref);
	g_free(input);
}

/* Netlink has listed devices before, and lists none now: marks them as doubtful. */
static void doubt_all_of_netlink(RdmadScan *scan, const GPtrArray *before)
{
	for (guint i = 0; i < before->len; i++) {
		const RdmadDevice *dev = before->pdata[i];

		for (guint k = 0; dev->index != RDMAD_UNKNOWN && k < scan->devices->len; k++)
			if (!g_strcmp0(((RdmadDevice *)scan->devices->pdata[k])->name, dev->name))
				rdmad_scan_doubt(scan, dev->name, EIO);
	}
}

static RdmadScan *scan_sysfs(const ScanInput *input, GError **error)
{
	const RdmadGidSource source = { rdmad_verbs_gids_query, input->open };
	const RdmadGidSource *gids = input->open ? &source : NULL;

	if (!input->whole)
		return rdmad_scan_sysfs_some(input->sysroot, input->before, gids);
	return rdmad_scan_sysfs_again(input->sysroot, input->before, gids, error);
}

static void scan_netlink(const ScanInput *input, RdmadScan *scan)
{
	g_autoptr(GError) reason = NULL;

	/* A kernel without RDMA netlink is not an error: it has no devices either. */
	if (!rdmad_netlink_complete(scan, &reason)) {
		rdmad_debug("%s", reason->message);
		doubt_all_of_netlink(scan, input->before);
	}
	rdmad_scan_settle(scan, input->before);
}

/* Runs on a worker, except for the first scan. */
static RdmadScan *scan_hardware(const ScanInput *input, GError **error)
{
	RdmadScan *scan = scan_sysfs(input, error);

	if (scan && rdmad_sysroot_is_live(input->sysroot))
		scan_netlink(input, scan);
	if (scan && !input->whole)
		scan->n_missed = input->before->len - scan->devices->len;
	return scan;
}

static gpointer scan_run(gpointer input, const RdmadJob *job, GError **error)
{
	return scan_hardware(input, error);
}

static void hardware_set_netns_mode(RdmadHardware *hw, const char *mode)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_attributes_set(hw->attributes, NULL, "node:netns-mode", mode, &error))
		rdmad_warn("%s", error->message);
	rdmad_inventory_set_can_move(hw->inventory, g_strcmp0(mode, "exclusive") == 0);
}

/* For devices without port events, the carrier changes of their interfaces are counted. */
static void hardware_expect_events(RdmadHardware *hw, const GPtrArray *devices)
{
	for (guint i = 0; hw->verbs && i < devices->len; i++) {
		const char *id = ((const RdmadDevice *)g_ptr_array_index(devices, i))->id;

		if (!rdmad_verbs_problem(hw->verbs, id))
			rdmad_inventory_expect_events(hw->inventory, id);
	}
}

static void scan_begins(RdmadHardware *hw)
{
	hw->began_us = rdmad_now_us();
	rdmad_inventory_begin_scan(hw->inventory);
}

static void scan_ended(RdmadHardware *hw, const GError *error)
{
	const gint64 took_us = rdmad_now_us() - hw->began_us;

	rdmad_stat_add(hw->scans, 1, (const char *const[]){ error ? "error" : "ok", NULL });
	rdmad_stat_observe(hw->durations, (double)took_us / G_USEC_PER_SEC, NULL);
	g_clear_pointer(&hw->problem, g_free);
	if (error)
		hw->problem = g_strdup(error->message);
}

static void hardware_retry_later(RdmadHardware *hw)
{
	hw->retry_ms = CLAMP(hw->retry_ms * 2, RETRY_FIRST_MS, RETRY_LAST_MS);
	rdmad_event_arm(hw->timer, hw->retry_ms);
}

static void hardware_report_incomplete(RdmadHardware *hw, const RdmadScan *scan)
{
	if (!hw->retry_ms)
		rdmad_event_log_post(hw->event_log, RDMAD_LOG_WARNING, "scan-incomplete", NULL,
				     scan->n_stale ? "%u devices could not be read, their last "
						     "state stays"
						   : "accelerators could not be read, their last "
						     "state stays (%u devices could)",
				     scan->n_stale ?: scan->devices->len);
	hardware_retry_later(hw);
}

static void hardware_report_recovered(RdmadHardware *hw)
{
	if (hw->retry_ms)
		rdmad_event_log_post(hw->event_log, RDMAD_LOG_NOTICE, "scan-recovered", NULL,
				     "the hardware can be scanned again");
	hw->retry_ms = 0;
}

static void hardware_update(RdmadHardware *hw, RdmadScan *scan)
{
	hardware_expect_events(hw, scan->devices);
	rdmad_stat_set(hw->stale, scan->n_stale, NULL);
	if (scan->n_stale)
		hardware_report_incomplete(hw, scan);
	rdmad_inventory_update(hw->inventory, g_steal_pointer(&scan->devices));
	if (scan->netns_mode)
		hardware_set_netns_mode(hw, scan->netns_mode);
	rdmad_scan_free(scan);
}

static void hardware_publish(RdmadHardware *hw, RdmadScan *scan)
{
	hardware_expect_events(hw, scan->devices);
	if (scan->n_stale || scan->gpus_unseen)
		hardware_report_incomplete(hw, scan);
	else
		hardware_report_recovered(hw);
	if (scan->gpus_unseen)
		g_clear_pointer(&scan->gpus, g_ptr_array_unref);
	rdmad_stat_set(hw->stale, scan->n_stale, NULL);
	hardware_set_netns_mode(hw, scan->netns_mode);
	rdmad_inventory_replace(hw->inventory, g_steal_pointer(&scan->devices),
				g_steal_pointer(&scan->gpus));
	rdmad_scan_free(scan);
	if (hw->verbs)
		rdmad_verbs_follow(hw->verbs, hw->inventory);
}

/* Keeps the inventory. */
static void hardware_failed(RdmadHardware *hw, const GError *error)
{
	if (!hw->retry_ms)
		rdmad_event_log_post(hw->event_log, RDMAD_LOG_WARNING, "scan-failed", NULL,
				     "cannot scan the hardware, the last state stays: %s",
				     error->message);
	hardware_retry_later(hw);
}

static void hardware_hinted(RdmadHardware *hw)
{
	if (!hw->job && !hw->hinted)
		rdmad_event_arm(hw->timer, RDMAD_COALESCE_MS);
	hw->hinted = !hw->job;
}

void rdmad_hardware_hint(RdmadHardware *hw)
{
	hw->whole = TRUE;
	hardware_hinted(hw);
}

/* Virtual functions and subfunctions have the link of their physical function. */
static gboolean is_child(const RdmadDevice *dev, const RdmadDevice *of)
{
	if (dev == of || !of->pci_address || of->aux_name)
		return FALSE;
	return dev->aux_name ? !g_strcmp0(dev->pci_address, of->pci_address)
			     : !g_strcmp0(dev->pf_address, of->pci_address);
}

gboolean rdmad_hardware_hint_device(RdmadHardware *hw, const char *id)
{
	const RdmadDevice *named = rdmad_inventory_lookup(hw->inventory, id);

	if (!named)
		return FALSE;
	g_hash_table_add(hw->next, g_strdup(id));
	for (guint i = 0; i < rdmad_inventory_count(hw->inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(hw->inventory, i);

		if (dev->pf_link != RDMAD_UNKNOWN && is_child(dev, named))
			g_hash_table_add(hw->next, g_strdup(dev->id));
	}
	hardware_hinted(hw);
	return TRUE;
}

/* ---- interfaces ---- */

/* Consumers identify an interface by its name and its address: if one of them has changed, it may
 * belong to another device. */
static gboolean is_as_before(const RdmadNetdev *netdev, const RdmadRouteEvent *event)
{
	const RdmadLink *link = event->link;

	if (netdev->ifindex != event->ifindex)
		return !link || g_strcmp0(netdev->name, link->name) != 0;
	return !event->removed && (!link || (!g_strcmp0(netdev->name, link->name) &&
					     !g_strcmp0(netdev->mac, link->mac)));
}

/* A bond or bridge above an interface belongs to the device too. */
static gboolean is_above(const RdmadNetdev *netdev, const RdmadLink *link)
{
	return link && netdev->master && !strcmp(netdev->master, link->name);
}

/* Hints the devices of the interface and returns their number; -1: other devices may be affected
 * too. */
static int hint_devices_of(RdmadHardware *hw, const RdmadRouteEvent *event)
{
	int found = 0;

	for (guint i = 0; i < rdmad_inventory_count(hw->inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(hw->inventory, i);

		for (guint n = 0; n < dev->n_netdevs; n++) {
			const RdmadNetdev *netdev = &dev->netdevs[n];
			const gboolean above = is_above(netdev, event->link);

			if (!is_as_before(netdev, event) || (above && event->removed))
				return -1;
			if (netdev->ifindex == event->ifindex || above)
				found += rdmad_hardware_hint_device(hw, dev->id);
		}
	}
	return found;
}

static char *bridge_text(const RdmadLink *link)
{
	return g_strdup_printf("%s %d %d", link->name, link->up, link->master);
}

/* A bridge may be above an interface of a device, also through a VLAN: its addresses are GIDs then.
 * Its ports change its MAC, its features and its operational state, which no GID depends on. */
static gboolean bridge_is_as_before(RdmadHardware *hw, const RdmadRouteEvent *event)
{
	const gpointer key = GINT_TO_POINTER(event->ifindex);
	g_autofree char *text = event->removed ? NULL : bridge_text(event->link);

	if (text && g_strcmp0(g_hash_table_lookup(hw->bridges, key), text) == 0)
		return TRUE;
	if (text)
		g_hash_table_insert(hw->bridges, key, g_steal_pointer(&text));
	else
		g_hash_table_remove(hw->bridges, key);
	return FALSE;
}

/* Notes a veth as a stranger: it is above no other interface, and a device that is made on top of
 * it has messages of its own.  An interface of another kind may be above one of a device, which
 * then has its addresses, and a physical one may be a device's own: only a scan can tell. */
static gboolean is_stranger(RdmadHardware *hw, const RdmadRouteEvent *event)
{
	const gpointer key = GINT_TO_POINTER(event->ifindex);

	if (!event->link)
		return g_hash_table_contains(hw->strangers, key);
	g_hash_table_remove(hw->strangers, key);
	if (g_strcmp0(event->link->kind, "bridge") == 0)
		return bridge_is_as_before(hw, event);
	if (g_strcmp0(event->link->kind, "veth") != 0)
		return FALSE;
	if (!event->removed)
		g_hash_table_add(hw->strangers, key);
	return TRUE;
}

void rdmad_hardware_hint_interface(RdmadHardware *hw, const RdmadRouteEvent *event)
{
	const gboolean stranger = is_stranger(hw, event);
	const int found = hint_devices_of(hw, event);

	if (found > 0)
		return;
	if (found < 0 || !stranger)
		rdmad_hardware_hint(hw);
	else if (hw->job)
		g_hash_table_add(hw->heard, GINT_TO_POINTER(event->ifindex));
}

/* The scan may have found a device of an interface, with what the interface was before it
 * changed. */
static void hint_heard(RdmadHardware *hw)
{
	GHashTableIter iter;
	gpointer ifindex;

	g_hash_table_iter_init(&iter, hw->heard);
	while (g_hash_table_iter_next(&iter, &ifindex, NULL))
		hint_devices_of(hw, &(RdmadRouteEvent){ .ifindex = GPOINTER_TO_INT(ifindex) });
	g_hash_table_remove_all(hw->heard);
}

/* ---- the scan ---- */

static void scan_done(gpointer result, const GError *error, gpointer data)
{
	RdmadHardware *hw = data;
	RdmadScan *scan = result;

	hw->job = NULL;
	rdmad_event_disarm(hw->timer);
	scan_ended(hw, error);
	if (error) {
		hardware_failed(hw, error);
	} else if (scan->partial) {
		hw->whole |= scan->n_missed > 0;
		hardware_update(hw, scan);
	} else {
		hardware_publish(hw, scan);
	}
	hint_heard(hw);
	if (hw->whole || g_hash_table_size(hw->next))
		hardware_hinted(hw);
}

static const RdmadJobClass scan_class = {
	.name = "hardware-scan",
	.run = scan_run,
	.done = scan_done,
	.free_input = scan_input_free,
	.free_result = (GDestroyNotify)rdmad_scan_free,
};

static void scan_due(gpointer data)
{
	RdmadHardware *hw = data;
	g_autoptr(GError) error = NULL;

	hw->hinted = FALSE;
	if (hw->job) {
		g_free(hw->problem);
		hw->problem =
			g_strdup_printf("a scan has taken more than %u s", SCAN_SLOW_MS / 1000);
		rdmad_event_log_post(hw->event_log, RDMAD_LOG_WARNING, "scan-slow", NULL,
				     "scanning the hardware takes more than %u s, the last state "
				     "stays meanwhile; a driver may hang, see dmesg",
				     SCAN_SLOW_MS / 1000);
		return;
	}
	scan_begins(hw);
	hw->job = rdmad_work_submit(hw->workers, NULL, &scan_class, scan_input_new(hw), 0, hw,
				    &error);
	if (hw->job) {
		rdmad_event_arm(hw->timer, SCAN_SLOW_MS);
	} else {
		scan_ended(hw, error);
		hardware_failed(hw, error);
	}
}

static void on_hint(gpointer data)
{
	RdmadHardware *hw = data;

	/* Messages may be lost, and an ifindex be another interface's. */
	g_hash_table_remove_all(hw->strangers);
	g_hash_table_remove_all(hw->bridges);
	rdmad_hardware_hint(hw);
}

static void on_interface(const RdmadRouteEvent *event, gpointer data)
{
	rdmad_hardware_hint_interface(data, event);
}

static const RdmadKernelEventOps kernel_ops = { on_hint, on_interface };

static void on_device(const char *device_id, gpointer data)
{
	if (!device_id || !rdmad_hardware_hint_device(data, device_id))
		rdmad_hardware_hint(data);
}

static void on_port(const char *device_id, guint port, gboolean active, gpointer data)
{
	RdmadHardware *hw = data;

	rdmad_inventory_port_event(hw->inventory, device_id, port, active);
}

static void on_fatal(const char *device_id, gpointer data)
{
	RdmadHardware *hw = data;

	rdmad_inventory_set_fatal(hw->inventory, device_id);
}

RdmadHardware *rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
				  const RdmadSysroot *sysroot, RdmadInventory *inventory,
				  RdmadAttributes *attributes, RdmadEventLog *event_log)
{
	const RdmadVerbsOps ops = { on_device, on_port, on_fatal };
	RdmadHardware *hw = g_new0(RdmadHardware, 1);

	hw->loop = loop;
	hw->workers = workers;
	hw->sysroot = sysroot;
	hw->inventory = inventory;
	hw->attributes = attributes;
	hw->event_log = event_log;
	hw->next = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	hw->strangers = g_hash_table_new(NULL, NULL);
	hw->bridges = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	hw->heard = g_hash_table_new(NULL, NULL);
	hw->scans = rdmad_loop_stat(loop, &scans_class);
	hw->durations = rdmad_loop_stat(loop, &durations_class);
	hw->stale = rdmad_loop_stat(loop, &stale_class);
	/* Exposes both series before the first scan, so that the first one is a change. */
	rdmad_stat_add(hw->scans, 0, (const char *const[]){ "ok", NULL });
	rdmad_stat_add(hw->scans, 0, (const char *const[]){ "error", NULL });
	hw->timer = rdmad_loop_add_timer(loop, NULL, scan_due, hw);
	if (rdmad_sysroot_is_live(sysroot))
		hw->verbs = rdmad_verbs_new(loop, workers, &ops, hw);
	return hw;
}

const char *rdmad_hardware_problem(const RdmadHardware *hw)
{
	return hw->problem;
}

RdmadVerbs *rdmad_hardware_verbs(RdmadHardware *hw)
{
	return hw->verbs;
}

gboolean rdmad_hardware_start(RdmadHardware *hw, GError **error)
{
	g_autoptr(RdmadScan) scan = NULL;
	ScanInput *first;

	/* Events first, so that changes after the scan are received. */
	if (rdmad_sysroot_is_live(hw->sysroot)) {
		hw->events = rdmad_kernel_events_new(hw->loop, &kernel_ops, hw, error);
		if (!hw->events)
			return FALSE;
	}
	scan_begins(hw);
	first = scan_input_new(hw);
	scan = scan_hardware(first, error);
	scan_input_free(first);
	if (!scan)
		return FALSE;
	scan_ended(hw, NULL);
	hardware_publish(hw, g_steal_pointer(&scan));
	return TRUE;
}

void rdmad_hardware_free(RdmadHardware *hw)
{
	if (!hw)
		return;
	rdmad_job_cancel(hw->job);
	rdmad_kernel_events_free(hw->events);
	rdmad_verbs_free(hw->verbs);
	rdmad_event_free(hw->timer);
	g_hash_table_unref(hw->next);
	g_hash_table_unref(hw->strangers);
	g_hash_table_unref(hw->bridges);
	g_hash_table_unref(hw->heard);
	g_free(hw->problem);
	g_free(hw);
}
