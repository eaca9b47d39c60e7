/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work: blocking jobs off the loop
 *
 * `run` is called on a worker thread with `input` and touches nothing of the core: it works on what
 * it was given.  `done` is called on the loop exactly once, unless the job was cancelled or its
 * owner ended: then it is not called at all.  At the deadline `done` gets RDMAD_ERROR_TIMEOUT.
 *
 * Inputs are freed on a worker, whether the job ran or not, and so are results that no `done` took
 * over: freeing may block.  The exception is the input of a job that is refused.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *name; /* for the log */
	/* An error that is set is a failure, and nothing else: NULL may be a result.  A long job
	 * checks rdmad_job_cancelled() now and then.  NULL: the job frees its input, and is never
	 * refused. */
	gpointer (*run)(gpointer input, const RdmadJob *job, GError **error);
	/* Takes `result` over (NULL on error); `error` stays the caller's.  May be NULL. */
	void (*done)(gpointer result, const GError *error, gpointer data);
	GDestroyNotify free_input;  /* may be NULL */
	GDestroyNotify free_result; /* may be NULL */
} RdmadJobClass;

/* Takes `input` over.  `deadline_ms` 0: none.  `klass` must outlive the job.  The handle is valid
 * until `done` was called or rdmad_job_cancel().  NULL: the job is refused, `input` is freed here
 * and `done` is not called.  RDMAD_ERROR_LIMIT: the queue is full; RDMAD_ERROR_FAILED: there is no
 * thread and none can be started. */
RDMAD_API RdmadJob *rdmad_work_submit(RdmadWorkers *workers, RdmadModule *owner,
				      const RdmadJobClass *klass, gpointer input, guint deadline_ms,
				      gpointer data, GError **error);
/* After this `done` will not be called.  NULL is fine. */
RDMAD_API void rdmad_job_cancel(RdmadJob *job);
/* For `run`: TRUE when the result is no longer wanted. */
RDMAD_API gboolean rdmad_job_cancelled(const RdmadJob *job);
