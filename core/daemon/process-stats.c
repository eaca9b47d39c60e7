/* SPDX-License-Identifier: Apache-2.0 */
/* Source: prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics". */
#include "daemon/process-stats.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void collect_cpu(RdmadStat *stat, gpointer data)
{
	struct timespec used;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		rdmad_stat_set(stat, (double)used.tv_sec + (double)used.tv_nsec / 1e9, NULL);
}

/* In pages. */
static gboolean memory_read(unsigned long *virtual, unsigned long *resident)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	gboolean ok;

	if (!statm)
		return FALSE;
	ok = fscanf(statm, "%lu %lu", virtual, resident) == 2;
	fclose(statm);
	return ok;
}

static void collect_resident(RdmadStat *stat, gpointer data)
{
	unsigned long virtual, resident;

	if (memory_read(&virtual, &resident))
		rdmad_stat_set(stat, (double)resident * (double)sysconf(_SC_PAGESIZE), NULL);
}

static void collect_virtual(RdmadStat *stat, gpointer data)
{
	unsigned long virtual, resident;

	if (memory_read(&virtual, &resident))
		rdmad_stat_set(stat, (double)virtual * (double)sysconf(_SC_PAGESIZE), NULL);
}

static void collect_fds(RdmadStat *stat, gpointer data)
{
	GDir *fds = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

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
	const gint64 *started_us = data;

	rdmad_stat_set(stat, (double)*started_us / G_USEC_PER_SEC, NULL);
}

static const RdmadStatClass classes[] = {
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

void rdmad_process_stats_add(RdmadStats *stats, const gint64 *started_us)
{
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		rdmad_stats_add(stats, NULL, &classes[i], (gpointer)started_us, NULL);
}
