/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the module. */
#pragma once

#include <rdmad/executor.h>
#include <rdmad/stats.h>
#include <rdmad/module.h>

typedef struct CniStats CniStats;

typedef struct {
	guint attachments, left, running, waiting, spooled;
} CniLevels;

/* Calls `levels` at each collection. */
CniStats *cni_stats_new(RdmadModule *self, void (*levels)(CniLevels *levels, gpointer data),
			gpointer data, GError **error);
void cni_stats_free(CniStats *stats);

/* `code` 0: success. */
void cni_stats_count(CniStats *stats, const char *command, int code, double seconds);
void cni_stats_step(CniStats *stats, const char *step, double seconds);
void cni_stats_report(CniStats *stats, const RdmadExecutorReport *report);
void cni_stats_host_network(CniStats *stats);
