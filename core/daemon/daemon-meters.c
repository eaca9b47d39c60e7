/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon-meters.h"

#include <rdmad/claims.h>
#include <rdmad/meters.h>
#include <sys/stat.h>

#include "base/work-private.h"
#include "build-info.h"
#include "daemon/modules.h"
#include "daemon/process-meters.h"

static void collect_build(RdmadMeter *meter, gpointer data)
{
	rdmad_meter_set(meter, 1, (const char *const[]){ RDMAD_VERSION, NULL });
}

static void collect_modules(RdmadMeter *meter, gpointer data)
{
	const RdmadServices *services = data;

	for (guint i = 0; i < rdmad_modules_count(services->modules); i++) {
		RdmadModuleInfo info;

		rdmad_modules_info(services->modules, i, &info);
		rdmad_meter_set(meter, info.state == RDMAD_MODULE_RUNNING,
				(const char *const[]){ info.name, NULL });
	}
}

static void collect_threads(RdmadMeter *meter, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_meter_set(meter, rdmad_workers_threads(services->workers), NULL);
}

static void collect_claims(RdmadMeter *meter, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_meter_set(meter, rdmad_claims_count(services->claims), NULL);
}

/* With what is written, but not yet moved into the database. */
static void collect_state_size(RdmadMeter *meter, gpointer data)
{
	static const char *const names[] = { "rdmad.db", "rdmad.db-wal" };
	const RdmadServices *services = data;

	for (guint i = 0; services->state_dir && i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(services->state_dir, names[i], NULL);
		struct stat info;

		if (lstat(path, &info) == 0)
			rdmad_meter_add(meter, (double)info.st_size, NULL);
	}
}

static void collect_reload(RdmadMeter *meter, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_meter_set(meter, !services->config_error, NULL);
}

static void collect_reload_time(RdmadMeter *meter, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_meter_set(meter, (double)services->config_loaded_us / G_USEC_PER_SEC, NULL);
}

static const RdmadMeterClass classes[] = {
	{ RDMAD_METER_GAUGE,
	  "rdmad_build_info",
	  NULL,
	  "Which rdmad this is",
	  { "version" },
	  .collect = collect_build },
	{ RDMAD_METER_GAUGE,
	  "rdmad_module_up",
	  NULL,
	  "Whether a module runs",
	  { "module" },
	  .collect = collect_modules },
	{ RDMAD_METER_GAUGE, "rdmad_work_threads", NULL, "Worker threads that there are now",
	  .collect = collect_threads },
	{ RDMAD_METER_GAUGE, "rdmad_claims", NULL, "Claims in the table",
	  .collect = collect_claims },
	{ RDMAD_METER_GAUGE, "rdmad_state_size_bytes", "bytes", "Size of the database with its log",
	  .collect = collect_state_size },
	{ RDMAD_METER_GAUGE, "rdmad_config_last_reload_successful", NULL,
	  "Whether the last configuration that was read was taken", .collect = collect_reload },
	{ RDMAD_METER_GAUGE, "rdmad_config_last_reload_timestamp_seconds", "seconds",
	  "When the configuration in use was read", .collect = collect_reload_time },
};

void rdmad_daemon_meters_add(const RdmadServices *services)
{
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		rdmad_meters_add(services->meters, NULL, &classes[i], (gpointer)services, NULL);
	rdmad_process_meters_add(services->meters, &services->started_us);
}
