/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executor: carries out steps (step.h), or undoes them, in a process of its own
 *
 * The same program, started when it is first needed and again when it has died.  It gets steps and the
 * descriptor of a namespace, nothing else: it reads no configuration and listens nowhere.  Requests run
 * side by side.
 *
 * It holds a lock while it lives, and waits for it: one that outlives its daemon for a moment has ended
 * before the next one does anything.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_EXECUTOR_OPTION "--executor"

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
	/* What could not be undone; NULL: nothing is left. */
	const char *left;
} RdmadExecutorReport;

/* Called on the loop once; `report` is valid during the call.  An error of a step has the codes of
 * network.h, RDMAD_ERROR_GONE where link or namespace are nowhere; RDMAD_ERROR_UNAVAILABLE: the executor
 * ended, nobody knows how far it came, and `report` is NULL. */
typedef void (*RdmadExecutorDone)(const RdmadExecutorReport *report, const GError *error,
				  gpointer data);

typedef enum {
	RDMAD_EXECUTE_DO,   /* the first failure ends it, and what was done is undone */
	RDMAD_EXECUTE_TRY,  /* the same without an undo: for steps that look */
	RDMAD_EXECUTE_UNDO, /* all of it, backwards, whatever fails */
} RdmadExecute;

/* `lock`: a file of its own, made where it is missing.  Both are copied. */
RDMAD_API RdmadExecutor *rdmad_executor_new(RdmadLoop *loop, RdmadModule *owner, const char *lock);
/* Ends the process; no `done` is called any more.  NULL is fine. */
RDMAD_API void rdmad_executor_free(RdmadExecutor *executor);

/* `steps`: of rdmad_steps_to_text(); `netns` stays the caller's, -1: gone, or the
 * steps are of the host alone.  0: RDMAD_ERROR_FAILED,
 * RDMAD_ERROR_LIMIT; else the number of the request, which is never used again. */
RDMAD_API guint64 rdmad_executor_run(RdmadExecutor *executor, RdmadExecute what, const char *steps,
				     int netns, RdmadExecutorDone done, gpointer data,
				     GError **error);
/* Waits end early, and what was done is undone; `done` is called all the same. */
RDMAD_API void rdmad_executor_cancel(RdmadExecutor *executor, guint64 number);
/* 0: it does not run. */
RDMAD_API int rdmad_executor_pid(const RdmadExecutor *executor);

/* The other end, from main(): serves the socket `argv[2]` under the lock `argv[3]`; the exit status. */
RDMAD_API int rdmad_executor_main(int argc, char **argv);
