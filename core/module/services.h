/* SPDX-License-Identifier: Apache-2.0 */
/* The core's objects, for the daemon, the API, and the implementation of module.h */
#pragma once

#include <rdmad/types.h>

#include "base/seccomp.h"

/* Kept from one life of the process to the next: what was given up does not come back. */
typedef struct {
	gboolean is_limited;	       /* the other capabilities are dropped */
	guint64 capabilities;	       /* kept by rdmad after it dropped the others */
	guint64 executor_capabilities; /* of the keeper */
	guint64 executor_lacks;	       /* those of them that rdmad was not given */
	RdmadKeeper *keeper;	       /* NULL: no module needs an executor */
	gboolean runs_programs;	       /* a module runs programs, which seccomp must allow */
	RdmadSeccomp seccomp;	       /* the effective mode, not the configured one */
} RdmadPrivileges;

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
	RdmadWatch *holders;		   /* tells the inventory */
	struct RdmadAwayTable *away;	   /* service/away.c */
	struct RdmadHandedOut *handed_out; /* service/handed-out.h */
	RdmadPods *pods;
	RdmadPreparations *preparations;
	RdmadPodMetadata *pod_metadata;
	struct RdmadPodWatch *pod_watch; /* service/pod-watch.h */
	RdmadHttp *http;
	RdmadHandOver *hand_over;
	struct RdmadApi *api;		/* api/api.h; NULL until the API is served */
	struct RdmadHardware *hardware; /* service/scanner.h */
	struct RdmadVerbs *verbs;	/* NULL on a recorded machine */
	struct RdmadModules *modules;	/* module/host.h */
	RdmadPrivileges privileges;

	char *run_dir, *kubelet_dir, *module_dir;
	char *state_dir;	/* NULL: no persistent state */
	char *instance;		/* daemon/instance.h */
	char **other_instances; /* texts of those that wait for this node, or NULL */
	char *config_path;	/* NULL: no file was read */
	char *run_dir_problem;	/* why the run directory is incomplete, or NULL */
	char *config_error;	/* why the last reload failed, or NULL */
	gboolean stopping;
	gint64 started_us, config_loaded_us; /* wall clock */
	char *state_set_aside;		     /* new path of a damaged database, or NULL */
} RdmadServices;
