/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by all operations of the module. */
#pragma once

#include <rdmad/executor.h>
#include <rdmad/module.h>

#include "ipam/records.h"
#include "settings.h"
#include "stats.h"

typedef struct CniJournal CniJournal;
typedef struct CniServer CniServer;

typedef struct {
	RdmadModule *self;
	CniSettings *settings;
	CniJournal *journal;
	RdmadExecutor *executor;
	CniStats *stats;
	CniServer *server;
	CniIpamRecords *ipam_records;
	/* look.c: sizes of GID tables; running looks, and queued ones. */
	GHashTable *gid_capacities;
	guint looks;
	GQueue waiting_looks;
	RdmadEvent *looks_next;
	char *boot;
	char *spool_dir;
} Cni;

/* ---- attachments.c: `rdmad attachments`, and its route of the API ---- */

extern const RdmadCommand cni_commands[];

gboolean cni_attachments_route(Cni *cni, GError **error);
void cni_attachments_unroute(Cni *cni);
