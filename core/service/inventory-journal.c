/* SPDX-License-Identifier: Apache-2.0 */
#include "service/inventory-diff.h"

#include <string.h>

static const RdmadPort *device_port(const RdmadDevice *dev, guint number)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].number == number)
			return &dev->ports[i];
	return NULL;
}

static void post_port_state(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
			    const RdmadLogFields *about, RdmadJournal *journal)
{
	const RdmadLogLevel level =
		now->state == RDMAD_PORT_ACTIVE ? RDMAD_LOG_NOTICE : RDMAD_LOG_WARNING;

	rdmad_journal_post(journal, level, "port-state", about, "%s port %u: %s -> %s", dev->name,
			   now->number, rdmad_port_state_name(old->state),
			   rdmad_port_state_name(now->state));
}

static gboolean gids_same(const RdmadPort *a, const RdmadPort *b)
{
	if (a->n_gids != b->n_gids)
		return FALSE;
	for (guint i = 0; i < a->n_gids; i++)
		if (a->gids[i].index != b->gids[i].index || a->gids[i].type != b->gids[i].type ||
		    memcmp(a->gids[i].raw, b->gids[i].raw, sizeof(a->gids[i].raw)) != 0)
			return FALSE;
	return TRUE;
}

/* TRUE: said something. */
static gboolean post_port(const RdmadDevice *dev, const RdmadPort *old, const RdmadPort *now,
			  const RdmadLogFields *about, RdmadJournal *journal)
{
	const gboolean state = old->state != now->state;
	const gboolean gids = !gids_same(old, now);

	if (state)
		post_port_state(dev, old, now, about, journal);
	if (gids)
		rdmad_journal_post(journal, RDMAD_LOG_INFO, "gid-table", about,
				   "%s port %u: GID table changed, %u -> %u entries", dev->name,
				   now->number, old->n_gids, now->n_gids);
	return state || gids;
}

/* Returns how many ports had something to say. */
static guint post_ports(const RdmadInventoryChange *change, const RdmadLogFields *about,
			RdmadJournal *journal)
{
	const RdmadDevice *now = change->now;
	guint said = 0;

	for (guint i = 0; i < now->n_ports; i++) {
		const RdmadPort *old = device_port(change->before, now->ports[i].number);

		if (old)
			said += post_port(now, old, &now->ports[i], about, journal);
	}
	return said;
}

static void post_changed(const RdmadInventoryChange *change, const RdmadLogFields *about,
			 RdmadJournal *journal)
{
	const RdmadDevice *before = change->before, *now = change->now;
	guint said = post_ports(change, about, journal);

	if (strcmp(before->name, now->name) != 0) {
		rdmad_journal_post(journal, RDMAD_LOG_NOTICE, "device-renamed", about,
				   "%s is %s now", before->name, now->name);
		said++;
	}
	if (now->fatal && !before->fatal) {
		rdmad_journal_post(journal, RDMAD_LOG_ERR, "device-fatal", about,
				   "%s: its driver reports a fatal error", now->name);
		said++;
	}
	/* Interfaces, addresses and what else there is: many and small. */
	if (!said)
		rdmad_journal_post(journal, RDMAD_LOG_DEBUG, "device-changed", about, "%s",
				   now->name);
}

void rdmad_inventory_change_post(const RdmadInventoryChange *change, RdmadJournal *journal)
{
	const RdmadDevice *dev = change->now ? change->now : change->before;
	const RdmadLogFields about = { .device = dev->id };

	if (!change->now)
		rdmad_journal_post(journal, RDMAD_LOG_WARNING, "device-removed", &about, "%s",
				   dev->name);
	else if (!change->before)
		rdmad_journal_post(journal, RDMAD_LOG_INFO, "device-added", &about,
				   "%s (%s), %u %s", dev->name,
				   dev->driver ? dev->driver : "driver unknown", dev->n_ports,
				   dev->n_ports == 1 ? "port" : "ports");
	else
		post_changed(change, &about, journal);
}
