/* SPDX-License-Identifier: Apache-2.0 */
#include "service/inventory-diff.h"

#include <string.h>

#include "hardware/device.h"

static void post_port_state(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
			    const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const RdmadLogLevel level =
		now->state == RDMAD_PORT_ACTIVE ? RDMAD_LOG_NOTICE : RDMAD_LOG_WARNING;

	rdmad_event_log_post(event_log, level, "port-state", about, "%s port %u: %s -> %s",
			     dev->name, now->number, rdmad_port_state_name(old->state),
			     rdmad_port_state_name(now->state));
}

/* Also of a port that is again as it was: nobody else would ever hear of it. */
static void post_flap(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
		      const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const guint64 n = now->transitions - old->transitions;
	const char *what = "went up and down";

	if (old->state == now->state)
		what = now->state == RDMAD_PORT_ACTIVE ? "went down and came back"
						       : "came up and went down again";
	rdmad_event_log_post(event_log, RDMAD_LOG_WARNING, "port-flap", about,
			     "%s port %u: %s, %" G_GUINT64_FORMAT " changes between two scans",
			     dev->name, now->number, what, n);
}

/* TRUE: said something. */
static gboolean post_port(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
			  const RdmadLogFields *about, RdmadEventLog *event_log)
{
	const gboolean state = old->state != now->state;
	const gboolean flap = now->transitions - old->transitions > 1;
	const gboolean gids = !rdmad_port_gids_equal(old, now);

	if (state)
		post_port_state(dev, old, now, about, event_log);
	if (flap)
		post_flap(dev, old, now, about, event_log);
	if (gids)
		rdmad_event_log_post(event_log, RDMAD_LOG_INFO, "gid-table", about,
				     "%s port %u: GID table changed, %u -> %u entries", dev->name,
				     now->number, old->n_gids, now->n_gids);
	return state || flap || gids;
}

/* Returns how many ports had something to say. */
static guint post_ports(const RdmadInventoryChange *change, const RdmadLogFields *about,
			RdmadEventLog *event_log)
{
	const RdmadDevice *now = change->now;
	guint said = 0;

	for (guint i = 0; i < now->n_ports; i++) {
		const RdmadPort *old = rdmad_device_port(change->before, now->ports[i].number);

		if (old)
			said += post_port(now, old, &now->ports[i], about, event_log);
	}
	return said;
}

static void post_changed(const RdmadInventoryChange *change, const RdmadLogFields *about,
			 RdmadEventLog *event_log)
{
	const RdmadDevice *before = change->before, *now = change->now;
	guint said = post_ports(change, about, event_log);

	if (strcmp(before->name, now->name) != 0) {
		rdmad_event_log_post(event_log, RDMAD_LOG_NOTICE, "device-renamed", about,
				     "%s is %s now", before->name, now->name);
		said++;
	}
	if (now->fatal && !before->fatal) {
		rdmad_event_log_post(event_log, RDMAD_LOG_ERR, "device-fatal", about,
				     "%s: its driver reports a fatal error", now->name);
		said++;
	}
	/* Interfaces, addresses and what else there is: many and small. */
	if (!said)
		rdmad_event_log_post(event_log, RDMAD_LOG_DEBUG, "device-changed", about, "%s",
				     now->name);
}

void rdmad_inventory_change_post(const RdmadInventoryChange *change, RdmadEventLog *event_log)
{
	const RdmadDevice *dev = change->now ? change->now : change->before;
	const RdmadLogFields about = { .device = dev->id };

	if (!change->now)
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
