/* SPDX-License-Identifier: Apache-2.0 */
/* Frees nothing */
#include <rdmad/attributes.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <rdmad/stats.h>

#include "recorder.h"

static void leaky_timer(gpointer data)
{
}

static void leaky_collect(RdmadStat *stat, gpointer data)
{
	const Recorder *r = data;

	rdmad_stat_set(stat, strlen(r->value), NULL);
}

static const RdmadStatClass leaky_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "test_leaky",
	.help = "Leaky",
	.collect = leaky_collect,
};

static gboolean leaky_start(gpointer state, GError **error)
{
	static const RdmadInventoryOps ops;
	Recorder *r = state;
	RdmadWatch *watch;

	for (int i = 0; i < 2; i++)
		rdmad_event_arm(
			rdmad_loop_add_timer(rdmad_module_loop(r->self), r->self, leaky_timer, r),
			0);
	watch = rdmad_inventory_watch(rdmad_module_inventory(r->self), r->self, &ops, r);
	return watch &&
	       rdmad_stats_add(rdmad_module_stats(r->self), r->self, &leaky_class, r, error) &&
	       rdmad_attributes_set(rdmad_module_attributes(r->self), r->self, "test:leaky", "yes",
				    error);
}

RDMAD_MODULE_DEFINE("leaky", .description = "A leaky module", .create = recorder_create,
		    .start = leaky_start, .stop = recorder_stop, .destroy = recorder_destroy);
