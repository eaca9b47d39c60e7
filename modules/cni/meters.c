/* SPDX-License-Identifier: Apache-2.0 */
#include "meters.h"

static const double bounds[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				 0.25,	 0.5,	1,	2.5,   5,    10,    30,	  0 };

static const RdmadMeterClass requests_class = {
	.type = RDMAD_METER_HISTOGRAM,
	.name = "rdmad_cni_request_duration_seconds",
	.unit = "seconds",
	.help = "Time from a CNI request to its answer",
	.labels = { "command" },
	.bounds = bounds,
};

static const RdmadMeterClass failures_class = {
	.type = RDMAD_METER_COUNTER,
	.name = "rdmad_cni_failures",
	.help = "CNI requests that failed, by the code of the answer",
	.labels = { "command", "code" },
};

static const RdmadMeterClass steps_class = {
	.type = RDMAD_METER_HISTOGRAM,
	.name = "rdmad_cni_step_duration_seconds",
	.unit = "seconds",
	.help = "Time of each step of CNI requests",
	.labels = { "step" },
	.bounds = bounds,
};

static const RdmadMeterClass host_network_class = {
	.type = RDMAD_METER_COUNTER,
	.name = "rdmad_cni_host_network_requests",
	.help = "ADDs for the network namespace of the host, which got nothing",
};

static void collect(RdmadMeter *meter, gpointer data);

static const RdmadMeterClass levels_class = {
	.type = RDMAD_METER_GAUGE,
	.name = "rdmad_cni_entries",
	.help = "Attachments in the journal, those that could not be undone yet, requests that "
		"are worked on and that wait, DELs in the spool",
	.labels = { "kind" },
	.collect = collect,
};

struct CniMeters {
	RdmadMeter *requests, *failures, *steps, *host_network, *levels;
	void (*ask)(CniLevels *levels, gpointer data);
	gpointer data;
};

static void collect(RdmadMeter *meter, gpointer data)
{
	const CniMeters *meters = data;
	CniLevels levels = { 0 };

	meters->ask(&levels, meters->data);
	rdmad_meter_set(meter, levels.attachments, (const char *const[]){ "attachment", NULL });
	rdmad_meter_set(meter, levels.left, (const char *const[]){ "left", NULL });
	rdmad_meter_set(meter, levels.running, (const char *const[]){ "running", NULL });
	rdmad_meter_set(meter, levels.waiting, (const char *const[]){ "waiting", NULL });
	rdmad_meter_set(meter, levels.spooled, (const char *const[]){ "spooled", NULL });
}

CniMeters *cni_meters_new(RdmadModule *self, void (*levels)(CniLevels *levels, gpointer data),
			  gpointer data, GError **error)
{
	CniMeters *meters = g_new0(CniMeters, 1);
	const struct {
		RdmadMeter **meter;
		const RdmadMeterClass *klass;
	} all[] = {
		{ &meters->requests, &requests_class },
		{ &meters->failures, &failures_class },
		{ &meters->steps, &steps_class },
		{ &meters->host_network, &host_network_class },
		{ &meters->levels, &levels_class },
	};

	meters->ask = levels;
	meters->data = data;
	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		*all[i].meter = rdmad_meters_add(rdmad_module_meters(self), self, all[i].klass,
						 meters, error);
		if (!*all[i].meter) {
			cni_meters_free(meters);
			return NULL;
		}
	}
	return meters;
}

void cni_meters_free(CniMeters *meters)
{
	if (!meters)
		return;
	rdmad_meter_free(meters->requests);
	rdmad_meter_free(meters->failures);
	rdmad_meter_free(meters->steps);
	rdmad_meter_free(meters->host_network);
	rdmad_meter_free(meters->levels);
	g_free(meters);
}

void cni_meters_count(CniMeters *meters, const char *command, int code, double seconds)
{
	g_autofree char *text = g_strdup_printf("%d", code);

	rdmad_meter_observe(meters->requests, seconds, (const char *const[]){ command, NULL });
	if (code)
		rdmad_meter_add(meters->failures, 1, (const char *const[]){ command, text, NULL });
}

void cni_meters_step(CniMeters *meters, const char *step, double seconds)
{
	rdmad_meter_observe(meters->steps, seconds, (const char *const[]){ step, NULL });
}

void cni_meters_report(CniMeters *meters, const RdmadExecutorReport *report)
{
	for (guint i = 0; report && i < report->n_steps; i++)
		cni_meters_step(meters, report->steps[i].step, report->steps[i].seconds);
}

void cni_meters_host_network(CniMeters *meters)
{
	rdmad_meter_add(meters->host_network, 1, NULL);
}
