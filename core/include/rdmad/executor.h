/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executor: carries out steps (step.h), or undoes them, in a process of its own
 *
 * The same program, started when it is first needed and again when it has died, with the capabilities that
 * the modules declare for it; the daemon itself has given them up.  It gets steps, names of sysctls and the
 * descriptor of a namespace, nothing else: it reads no configuration and listens nowhere.  Requests run
 * side by side.
 *
 * It holds a lock while it lives, and waits for it: one that outlives its daemon for a moment has ended
 * before the next one does anything.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *step; /* rdmad_step_name() */
	double seconds;
	int result;	   /* of a step that has one, else -1 */
	const char *error; /* NULL: it succeeded */
} RdmadStepReport;

typedef struct {
	const RdmadStepReport
		*steps; /* in the order in which they were tried, without those of an undo
					 * that followed a failure */
	guint n_steps;
	/* Steps that could not be undone; NULL: none. */
	const char *left;
} RdmadExecutorReport;

/* Called on the loop once; `report` is valid during the call.  An error of a step has the codes of
 * network.h, RDMAD_ERROR_GONE where link or namespace are nowhere, or the name of a link to be
 * given back is another one's; RDMAD_ERROR_UNAVAILABLE: the executor ended, its progress is unknown,
 * and `report` is NULL. */
typedef void (*RdmadExecutorDone)(const RdmadExecutorReport *report, const GError *error,
				  gpointer data);

typedef enum {
	RDMAD_EXECUTE_DO,   /* the first failure ends it, and what was done is undone */
	RDMAD_EXECUTE_TRY,  /* the same without an undo: for steps that look */
	RDMAD_EXECUTE_UNDO, /* all of it, backwards, whatever fails */
} RdmadExecute;

/* `keeper`: of rdmad_module_keeper().  `lock`: a file of its own, made where it is missing; copied. */
RDMAD_API RdmadExecutor *rdmad_executor_new(RdmadLoop *loop, RdmadModule *owner,
					    RdmadKeeper *keeper, const char *lock);
/* Ends the process; no callback follows.  NULL is fine. */
RDMAD_API void rdmad_executor_free(RdmadExecutor *executor);

/* `steps`: of rdmad_steps_to_text(); `netns` stays the caller's, -1: gone, or the
 * steps are of the host alone.  0: RDMAD_ERROR_FAILED,
 * RDMAD_ERROR_LIMIT; else the number of the request, which is never used again. */
RDMAD_API guint64 rdmad_executor_run(RdmadExecutor *executor, RdmadExecute what, const char *steps,
				     int netns, RdmadExecutorDone done, gpointer data,
				     GError **error);
/* Waits end early, and what was done is undone; `done` is called all the same. */
RDMAD_API void rdmad_executor_cancel(RdmadExecutor *executor, guint64 number);

#define RDMAD_EXECUTOR_SOCK_DIAG "socket:sock-diag"

/* Called on the loop once.  `fds` are a socket for rdmad_network_adopt(), and one for each sysctl to be read,
 * -1 where there is none; those that are not stolen are closed after the call. */
typedef void (*RdmadExecutorOpened)(int *fds, guint n, const GError *error, gpointer data);

/* Opens in a namespace what shows it: for a look by a process that may not enter it.  `sysctls` ends with
 * NULL, "net/ipv4/conf/all/rp_filter"; RDMAD_EXECUTOR_SOCK_DIAG among them is a socket for
 * rdmad_smc_sockets_list().  Returns as rdmad_executor_run(). */
RDMAD_API guint64 rdmad_executor_open(RdmadExecutor *executor, const char *const *sysctls,
				      int netns, RdmadExecutorOpened opened, gpointer data,
				      GError **error);
/* Opens the namespace at `path`, for a process that may not follow a /proc/PID/ns/net: `fds` is its
 * descriptor alone.  Its errors are those of rdmad_netns_open(), and RDMAD_ERROR_UNAVAILABLE.  Returns as
 * rdmad_executor_run(); `path` is UTF-8. */
RDMAD_API guint64 rdmad_executor_open_netns(RdmadExecutor *executor, const char *path,
					    RdmadExecutorOpened opened, gpointer data,
					    GError **error);
/* Its callback is not called any more; descriptors that it opened are closed. */
RDMAD_API void rdmad_executor_forget(RdmadExecutor *executor, guint64 number);
