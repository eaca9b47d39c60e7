/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executor: a process that does or undoes steps (step.h)
 *
 * The executor is the same program, started by the first request and by the next request after its
 * end. It has the capabilities that the modules declare for it, which the daemon has given up.  It
 * receives only steps, names of sysctls, paths and descriptors of namespaces: it reads no
 * configuration and does not listen.  Requests run in parallel.
 *
 * An executor waits for a lock, and holds it until it ends.  If an executor outlives its daemon for
 * a moment, the next one does nothing before its end.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *step; /* rdmad_step_name() */
	double seconds;
	int result;	   /* -1: the step has no result */
	const char *error; /* NULL: success */
} RdmadStepReport;

typedef struct {
	const RdmadStepReport *steps; /* in the order of execution, without the undo that followed a
					 * failure */
	guint n_steps;
	/* Names the steps that could not be undone; NULL: none. */
	const char *left;
} RdmadExecutorReport;

/* Called on the loop once; `report` is valid during the call.  The error of a step has a code of
 * network.h, or RDMAD_ERROR_GONE: link or namespace do not exist, or another link has the name of a
 * link to be moved back.  RDMAD_ERROR_CANCELLED: rdmad_executor_cancel() was called.
 * RDMAD_ERROR_UNAVAILABLE: the executor ended; its progress is unknown, and `report` is NULL. */
typedef void (*RdmadExecutorDone)(const RdmadExecutorReport *report, const GError *error,
				  gpointer data);

typedef enum {
	RDMAD_EXECUTE_DO, /* stops at the first failure, and undoes what was done */
	RDMAD_EXECUTE_TRY, /* stops at the first failure, without undo: for steps that change
			    * nothing, or may be in effect already */
	RDMAD_EXECUTE_UNDO, /* undoes all steps in reverse order, despite failures */
} RdmadExecute;

/* `keeper` is rdmad_module_keeper().  `lock` is the path of a file of this executor alone, which is
 * made if it is missing. */
RDMAD_API RdmadExecutor *rdmad_executor_new(RdmadLoop *loop, RdmadModule *owner,
					    RdmadKeeper *keeper, const char *lock);
/* Ends the process; no callback follows.  Does nothing if `executor` is NULL. */
RDMAD_API void rdmad_executor_free(RdmadExecutor *executor);

/* Requests `steps` (rdmad_steps_to_text()) in the namespace `netns`, which the caller keeps; -1:
 * the namespace has ended, or all steps are in the host.  Returns the number of the request, which
 * is unique, or 0 with an error: RDMAD_ERROR_LIMIT: a plan of more than RDMAD_STEP_JSON_MAX bytes;
 * RDMAD_ERROR_FAILED, or a code of rdmad_message_send(). */
RDMAD_API guint64 rdmad_executor_run(RdmadExecutor *executor, RdmadExecute what, const char *steps,
				     int netns, RdmadExecutorDone done, gpointer data,
				     GError **error);
/* Cancels a request: its waits end early, and what was done is undone (RDMAD_EXECUTE_DO).
 * RDMAD_EXECUTE_UNDO continues.  `done` is still called. */
RDMAD_API void rdmad_executor_cancel(RdmadExecutor *executor, guint64 number);

#define RDMAD_EXECUTOR_SOCK_DIAG "socket:sock-diag"

/* Called on the loop once.  `fds` are a socket for rdmad_network_adopt(), and a descriptor for each
 * sysctl, -1 if it is missing.  Descriptors that are not stolen are closed after the call. */
typedef void (*RdmadExecutorOpened)(int *fds, guint n, const GError *error, gpointer data);

/* Opens a netlink socket and sysctls in a namespace, for a process that may not enter it.
 * `sysctls`, such as "net/ipv4/conf/all/rp_filter", ends with NULL; RDMAD_EXECUTOR_SOCK_DIAG among
 * them opens a socket for rdmad_smc_sockets_list().  Returns as rdmad_executor_run() does. */
RDMAD_API guint64 rdmad_executor_open(RdmadExecutor *executor, const char *const *sysctls,
				      int netns, RdmadExecutorOpened opened, gpointer data,
				      GError **error);
/* Opens the namespace at `path` (UTF-8), for a process that may not follow /proc/PID/ns/net: `fds`
 * has only its descriptor.  `opened` gets the errors of rdmad_netns_open(), or
 * RDMAD_ERROR_UNAVAILABLE. Returns as rdmad_executor_run() does. */
RDMAD_API guint64 rdmad_executor_open_netns(RdmadExecutor *executor, const char *path,
					    RdmadExecutorOpened opened, gpointer data,
					    GError **error);
/* Cancels the callback of a request; descriptors that it opens are closed. */
RDMAD_API void rdmad_executor_forget(RdmadExecutor *executor, guint64 number);
