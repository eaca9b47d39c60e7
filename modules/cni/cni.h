/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations of the module share. */
#pragma once

#include <rdmad/executor.h>
#include <rdmad/module.h>

#include "journal.h"
#include "stats.h"
#include "settings.h"

typedef struct CniServer CniServer;

typedef struct {
	RdmadModule *self;
	CniSettings *settings;
	CniJournal *journal;
	RdmadExecutor *executor;
	CniStats *stats;
	CniServer *server;
	char *boot;
	char *spool_dir;
} Cni;
