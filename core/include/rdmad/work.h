/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work: blocking jobs off the loop
 *
 * `run` is called on a worker thread and must not use the core, only its `input`.  `done` is called
 * on the loop exactly once, but not after the job was cancelled or its owner ended.  At the
 * deadline, `done` gets RDMAD_ERROR_TIMEOUT, although `run` may continue.
 *
 * Freeing may block.  Therefore inputs are freed on a worker, whether the job ran or not, except
 * the input of a rejected job.  Results that no `done` took over are freed there as well.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *name; /* for the log */
	/* Returns the result, which may be NULL; only a set error is a failure.  A long job calls
	 * rdmad_job_cancelled() repeatedly.  NULL: the job only frees its input, and is never
	 * rejected. */
	gpointer (*run)(gpointer input, const RdmadJob *job, GError **error);
	/* Takes `result` over, which is NULL on error; `error` is borrowed.  May be NULL. */
	void (*done)(gpointer result, const GError *error, gpointer data);
	GDestroyNotify free_input;  /* may be NULL */
	GDestroyNotify free_result; /* may be NULL */
} RdmadJobClass;

/* Submits a job, and takes `input` over.  `klass` must outlive the job.  `deadline_ms` 0: none.
 * The handle is valid until `done` is called or rdmad_job_cancel().  Returns NULL if the job is
 * rejected: `input` is then freed here, and `done` is not called.  RDMAD_ERROR_LIMIT: the queue is
 * full; RDMAD_ERROR_FAILED: there is no thread, and none can be started. */
RDMAD_API RdmadJob *rdmad_work_submit(RdmadWorkers *workers, RdmadModule *owner,
				      const RdmadJobClass *klass, gpointer input, guint deadline_ms,
				      gpointer data, GError **error);
/* Cancels the job and the call of `done`.  Does nothing if `job` is NULL. */
RDMAD_API void rdmad_job_cancel(RdmadJob *job);
/* Returns, in `run`, whether the job was cancelled or its deadline has passed. */
RDMAD_API gboolean rdmad_job_cancelled(const RdmadJob *job);
