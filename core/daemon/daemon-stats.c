/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon-stats.h"

#include <fcntl.h>
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/stats.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/work.h"
#include "build-info.h"
#include "module/host.h"

static void collect_build(RdmadStat *stat, gpointer data)
{
	rdmad_stat_set(stat, 1, (const char *const[]){ RDMAD_VERSION, NULL });
}

static void collect_modules(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	for (guint i = 0; i < rdmad_modules_count(services->modules); i++) {
		RdmadModuleInfo info;

		rdmad_modules_info(services->modules, i, &info);
		rdmad_stat_set(stat, info.state == RDMAD_MODULE_RUNNING,
			       (const char *const[]){ info.name, NULL });
	}
}

static void collect_threads(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_stat_set(stat, rdmad_workers_threads(services->workers), NULL);
}

static void collect_allocations(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_stat_set(stat, rdmad_allocations_count(services->allocations), NULL);
}

/* Includes the log that is not copied into the database yet. */
static void collect_state_size(RdmadStat *stat, gpointer data)
{
	static const char *const names[] = { "rdmad.db", "rdmad.db-wal" };
	const RdmadServices *services = data;

	for (guint i = 0; services->state_dir && i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(services->state_dir, names[i], NULL);
		struct stat info;

		if (lstat(path, &info) == 0)
			rdmad_stat_add(stat, (double)info.st_size, NULL);
	}
}

static void collect_reload(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_stat_set(stat, !services->config_error, NULL);
}

static void collect_reload_time(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_stat_set(stat, (double)services->config_loaded_us / G_USEC_PER_SEC, NULL);
}

/*
 * The families named process_*, as every Prometheus client library has them.
 *
 * Source: prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics".
 */

static void collect_cpu(RdmadStat *stat, gpointer data)
{
	struct timespec used;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		rdmad_stat_set(stat, (double)used.tv_sec + (double)used.tv_nsec / 1e9, NULL);
}

typedef struct {
	gint64 read_us;			 /* 0: not yet */
	unsigned long virtual, resident; /* pages */
} Memory;

#define MEMORY_FRESH_US 10000 /* the families of one scrape are collected within it */

/* Returns the values of one read for both families; NULL if the file could not be read. */
static const Memory *memory_read(void)
{
	static Memory memory;
	static int fd = -1; /* stays open, which halves the cost of a read */
	const gint64 now_us = rdmad_now_us();
	char text[128], *end;
	ssize_t n;

	if (memory.read_us && now_us - memory.read_us < MEMORY_FRESH_US)
		return &memory;
	if (fd < 0)
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	memory.read_us = 0;
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	memory.virtual = strtoul(text, &end, 10);
	memory.resident = strtoul(end, &end, 10);
	if (*end != ' ')
		return NULL;
	memory.read_us = now_us;
	return &memory;
}

static void collect_resident(RdmadStat *stat, gpointer data)
{
	const Memory *memory = memory_read();

	if (memory)
		rdmad_stat_set(stat, (double)memory->resident * (double)sysconf(_SC_PAGESIZE),
			       NULL);
}

static void collect_virtual(RdmadStat *stat, gpointer data)
{
	const Memory *memory = memory_read();

	if (memory)
		rdmad_stat_set(stat, (double)memory->virtual * (double)sysconf(_SC_PAGESIZE), NULL);
}

static void collect_fds(RdmadStat *stat, gpointer data)
{
	struct stat info;
	GDir *fds;
	guint n = 0;

	/* Since Linux 6.2 the size of the directory is the number of descriptors; counting them
	 * takes a tenth of a scrape. */
	if (lstat("/proc/self/fd", &info) == 0 && info.st_size > 0) {
		rdmad_stat_set(stat, (double)info.st_size, NULL);
		return;
	}
	fds = g_dir_open("/proc/self/fd", 0, NULL);
	if (!fds)
		return;
	while (g_dir_read_name(fds))
		n++;
	g_dir_close(fds);
	rdmad_stat_set(stat, n - 1, NULL); /* without the directory itself */
}

static void collect_max_fds(RdmadStat *stat, gpointer data)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		rdmad_stat_set(stat, (double)limit.rlim_cur, NULL);
}

static void collect_start(RdmadStat *stat, gpointer data)
{
	const RdmadServices *services = data;

	rdmad_stat_set(stat, (double)services->started_us / G_USEC_PER_SEC, NULL);
}

static const RdmadStatClass classes[] = {
	{ RDMAD_STAT_GAUGE,
	  "rdmad_build_info",
	  NULL,
	  "Version of rdmad",
	  { "version" },
	  .collect = collect_build },
	{ RDMAD_STAT_GAUGE,
	  "rdmad_module_up",
	  NULL,
	  "Whether a module runs",
	  { "module" },
	  .collect = collect_modules },
	{ RDMAD_STAT_GAUGE, "rdmad_work_threads", NULL, "Worker threads",
	  .collect = collect_threads },
	{ RDMAD_STAT_GAUGE, "rdmad_allocations", NULL, "Allocations in the table",
	  .collect = collect_allocations },
	{ RDMAD_STAT_GAUGE, "rdmad_state_size_bytes", "bytes", "Size of the database with its log",
	  .collect = collect_state_size },
	{ RDMAD_STAT_GAUGE, "rdmad_config_last_reload_successful", NULL,
	  "Whether the last reload of the configuration succeeded", .collect = collect_reload },
	{ RDMAD_STAT_GAUGE, "rdmad_config_last_reload_timestamp_seconds", "seconds",
	  "Time at which the configuration in use was read", .collect = collect_reload_time },
	{ RDMAD_STAT_COUNTER, "process_cpu_seconds", "seconds",
	  "Total user and system CPU time spent in seconds", .collect = collect_cpu },
	{ RDMAD_STAT_GAUGE, "process_resident_memory_bytes", "bytes",
	  "Resident memory size in bytes", .collect = collect_resident },
	{ RDMAD_STAT_GAUGE, "process_virtual_memory_bytes", "bytes", "Virtual memory size in bytes",
	  .collect = collect_virtual },
	{ RDMAD_STAT_GAUGE, "process_open_fds", NULL, "Number of open file descriptors",
	  .collect = collect_fds },
	{ RDMAD_STAT_GAUGE, "process_max_fds", NULL, "Maximum number of open file descriptors",
	  .collect = collect_max_fds },
	{ RDMAD_STAT_GAUGE, "process_start_time_seconds", "seconds",
	  "Start time of the process since unix epoch in seconds", .collect = collect_start },
};

void rdmad_daemon_stats_add(const RdmadServices *services)
{
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		rdmad_stats_add(services->stats, NULL, &classes[i], (gpointer)services, NULL);
}
