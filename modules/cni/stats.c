/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

static const double bounds[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				 0.25,	 0.5,	1,	2.5,   5,    10,    30,	  0 };

static const RdmadStatClass requests_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_cni_request_duration_seconds",
	.unit = "seconds",
	.help = "Duration of CNI requests",
	.labels = { "command" },
	.bounds = bounds,
};

static const RdmadStatClass failures_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_cni_failures",
	.help = "CNI requests that failed, by the code of the response",
	.labels = { "command", "code" },
};

static const RdmadStatClass steps_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_cni_step_duration_seconds",
	.unit = "seconds",
	.help = "Duration of the steps of CNI requests",
	.labels = { "step" },
	.bounds = bounds,
};

static const RdmadStatClass host_network_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_cni_host_network_requests",
	.help = "ADDs for the host's network namespace, which get no NIC",
};

static void collect(RdmadStat *stat, gpointer data);

static const RdmadStatClass levels_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_cni_entries",
	.help = "Attachments in the journal, attachments that could not be undone yet, requests in "
		"progress, waiting requests, and DELs in the spool",
	.labels = { "kind" },
	.collect = collect,
};

struct CniStats {
	RdmadStat *requests, *failures, *steps, *host_network, *levels;
	void (*read_levels)(CniLevels *levels, gpointer data);
	gpointer data;
};

static void collect(RdmadStat *stat, gpointer data)
{
	const CniStats *stats = data;
	CniLevels levels = { 0 };

	stats->read_levels(&levels, stats->data);
	rdmad_stat_set(stat, levels.attachments, (const char *const[]){ "attachment", NULL });
	rdmad_stat_set(stat, levels.left, (const char *const[]){ "left", NULL });
	rdmad_stat_set(stat, levels.running, (const char *const[]){ "running", NULL });
	rdmad_stat_set(stat, levels.waiting, (const char *const[]){ "waiting", NULL });
	rdmad_stat_set(stat, levels.spooled, (const char *const[]){ "spooled", NULL });
}

CniStats *cni_stats_new(RdmadModule *self, void (*levels)(CniLevels *levels, gpointer data),
			gpointer data, GError **error)
{
	CniStats *stats = g_new0(CniStats, 1);
	const struct {
		RdmadStat **stat;
		const RdmadStatClass *klass;
	} all[] = {
		{ &stats->requests, &requests_class },
		{ &stats->failures, &failures_class },
		{ &stats->steps, &steps_class },
		{ &stats->host_network, &host_network_class },
		{ &stats->levels, &levels_class },
	};

	stats->read_levels = levels;
	stats->data = data;
	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		*all[i].stat =
			rdmad_stats_add(rdmad_module_stats(self), self, all[i].klass, stats, error);
		if (!*all[i].stat) {
			cni_stats_free(stats);
			return NULL;
		}
	}
	return stats;
}

void cni_stats_free(CniStats *stats)
{
	if (!stats)
		return;
	rdmad_stat_free(stats->requests);
	rdmad_stat_free(stats->failures);
	rdmad_stat_free(stats->steps);
	rdmad_stat_free(stats->host_network);
	rdmad_stat_free(stats->levels);
	g_free(stats);
}

void cni_stats_count(CniStats *stats, const char *command, int code, double seconds)
{
	g_autofree char *text = g_strdup_printf("%d", code);

	rdmad_stat_observe(stats->requests, seconds, (const char *const[]){ command, NULL });
	if (code)
		rdmad_stat_add(stats->failures, 1, (const char *const[]){ command, text, NULL });
}

void cni_stats_step(CniStats *stats, const char *step, double seconds)
{
	rdmad_stat_observe(stats->steps, seconds, (const char *const[]){ step, NULL });
}

void cni_stats_report(CniStats *stats, const RdmadExecutorReport *report)
{
	for (guint i = 0; report && i < report->n_steps; i++)
		cni_stats_step(stats, report->steps[i].step, report->steps[i].seconds);
}

void cni_stats_host_network(CniStats *stats)
{
	rdmad_stat_add(stats->host_network, 1, NULL);
}
