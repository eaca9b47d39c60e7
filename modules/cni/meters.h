/* SPDX-License-Identifier: Apache-2.0 */
/* What the module counts of itself. */
#pragma once

#include <rdmad/executor.h>
#include <rdmad/meters.h>
#include <rdmad/module.h>

typedef struct CniMeters CniMeters;

typedef struct {
	guint attachments, left, running, waiting, spooled;
} CniLevels;

/* `levels` is asked whenever somebody reads. */
CniMeters *cni_meters_new(RdmadModule *self, void (*levels)(CniLevels *levels, gpointer data),
			  gpointer data, GError **error);
void cni_meters_free(CniMeters *meters);

/* `code` 0: it succeeded. */
void cni_meters_count(CniMeters *meters, const char *command, int code, double seconds);
void cni_meters_step(CniMeters *meters, const char *step, double seconds);
void cni_meters_report(CniMeters *meters, const RdmadExecutorReport *report);
void cni_meters_host_network(CniMeters *meters);
