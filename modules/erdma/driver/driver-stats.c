/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/driver-stats.h"

#include <rdmad/error.h>
#include <rdmad/module.h>
#include <rdmad/stats.h>

static void collect_state(RdmadStat *stat, gpointer data);
static void collect_mode(RdmadStat *stat, gpointer data);

enum { STATE, MODE, INSTALLS, LOADS, N_STATS };

static const RdmadStatClass classes[N_STATS] = {
	[STATE] = { .type = RDMAD_STAT_GAUGE,
		    .name = "rdmad_erdma_driver_state",
		    .help = "State of the driver of elastic RDMA: 1 for the current state",
		    .labels = { "state" },
		    .collect = collect_state },
	[MODE] = { .type = RDMAD_STAT_GAUGE,
		   .name = "rdmad_erdma_driver_mode",
		   .help = "Mode of the loaded driver of elastic RDMA, and the preferred mode; "
			   "always 1",
		   .labels = { "mode", "preferred" },
		   .collect = collect_mode },
	[INSTALLS] = { .type = RDMAD_STAT_COUNTER,
		       .name = "rdmad_erdma_driver_installs",
		       .help = "Completed runs of the driver's installer",
		       .labels = { "result" } },
	[LOADS] = { .type = RDMAD_STAT_COUNTER,
		    .name = "rdmad_erdma_driver_loads",
		    .help = "Kernel modules that were loaded or unloaded for elastic RDMA",
		    .labels = { "module", "operation", "result" } },
};

struct ErdmaDriverStats {
	const ErdmaDriver *driver;
	RdmadStat *families[N_STATS];
};

static void collect_state(RdmadStat *stat, gpointer data)
{
	const ErdmaDriverStats *stats = data;
	const ErdmaDriverView view = erdma_driver_view(stats->driver);

	for (guint i = 0; i < ERDMA_DRIVER_STATES; i++)
		rdmad_stat_set(stat, i == view.state,
			       (const char *const[]){ erdma_driver_state_names[i], NULL });
}

static void collect_mode(RdmadStat *stat, gpointer data)
{
	const ErdmaDriverStats *stats = data;
	const ErdmaDriverView view = erdma_driver_view(stats->driver);

	if (view.facts && view.facts->module == ERDMA_MODULE_LIVE)
		rdmad_stat_set(stat, 1,
			       (const char *const[]){ erdma_mode_names[view.facts->mode],
						      erdma_mode_names[view.preferred], NULL });
}

static const char *result_name(const GError *error)
{
	if (!error)
		return "ok";
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT) ? "timeout" : "error";
}

void erdma_driver_stats_installed(ErdmaDriverStats *stats, const GError *error)
{
	rdmad_stat_add(stats->families[INSTALLS], 1,
		       (const char *const[]){ result_name(error), NULL });
}

void erdma_driver_stats_loaded(ErdmaDriverStats *stats, const char *module, gboolean out,
			       const GError *error)
{
	rdmad_stat_add(
		stats->families[LOADS], 1,
		(const char *const[]){ module, out ? "unload" : "load", result_name(error), NULL });
}

ErdmaDriverStats *erdma_driver_stats_new(RdmadModule *self, const ErdmaDriver *driver,
					 GError **error)
{
	ErdmaDriverStats *stats = g_new0(ErdmaDriverStats, 1);

	stats->driver = driver;
	for (guint i = 0; i < N_STATS; i++) {
		stats->families[i] =
			rdmad_stats_add(rdmad_module_stats(self), self, &classes[i], stats, error);
		if (!stats->families[i]) {
			erdma_driver_stats_free(stats);
			return NULL;
		}
	}
	return stats;
}

void erdma_driver_stats_free(ErdmaDriverStats *stats)
{
	if (!stats)
		return;
	for (guint i = 0; i < N_STATS; i++)
		if (stats->families[i])
			rdmad_stat_free(stats->families[i]);
	g_free(stats);
}
