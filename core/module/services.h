/* SPDX-License-Identifier: Apache-2.0 */
/* The core's objects, for those few who see them all: the daemon, the modules' context, the API. */
#pragma once

#include <rdmad/types.h>

#include "base/seccomp.h"

typedef struct {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadSysroot *sysroot;
	RdmadStats *stats;
	RdmadEventLog *event_log;
	RdmadAttributes *attributes;
	RdmadInventory *inventory;
	struct RdmadState *state; /* service/state.h */
	RdmadAllocations *allocations;
	RdmadPods *pods;
	RdmadPreparations *preparations;
	RdmadPodMetadata *pod_metadata;
	struct RdmadPodWatch *pod_watch; /* service/pod-watch.h */
	RdmadHttp *http;
	RdmadHandOver *hand_over;
	struct RdmadApi *api;		/* http/api.h; NULL until the API is served */
	struct RdmadHardware *hardware; /* hardware/hardware.h */
	struct RdmadVerbs *verbs;	/* NULL on a recorded machine */
	struct RdmadModules *modules;	/* daemon/modules.h */
	gboolean runs_programs;		/* of modules, which seccomp lets through */
	RdmadSeccomp seccomp;		/* as it is, not as it is configured */
	guint64 executor_capabilities;	/* what the keeper has */
	RdmadKeeper *keeper;		/* NULL: no module needs an executor */
	guint64 capabilities;		/* what rdmad has kept of them, once it gave up the rest */
	gboolean is_limited;		/* it did */

	char *run_dir, *kubelet_dir, *module_dir;
	char *state_dir;		     /* NULL: nothing outlives us */
	char *config_path;		     /* NULL: none was read */
	char *run_dir_problem;		     /* why the run directory is not whole, or NULL */
	char *config_error;		     /* why the last reload was refused, or NULL */
	gboolean stopping;		     /* stopping */
	gint64 started_us, config_loaded_us; /* wall clock */
	char *state_set_aside;		     /* where a damaged database went, or NULL */
} RdmadServices;
