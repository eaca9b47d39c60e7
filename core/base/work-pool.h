/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pool of rdmad/work.h
 *
 * A job has two references, that of the loop and that of the pool.
 */
#pragma once

#include "base/work.h"

typedef struct RdmadWorkPool RdmadWorkPool;

struct RdmadJob {
	int refs;
	const RdmadJobClass *klass;
	gpointer input;
	gpointer result;
	GError *error;
	int cancelled; /* atomic; the result is not needed */

	/* Used by the pool under its lock, until the job has finished. */
	GList run_node;
	gint64 began_us;
	gint64 took_us;
	gboolean returned; /* by the loop, only to be freed */

	/* Used only on the loop. */
	RdmadWorkers *workers; /* NULL: no longer open */
	RdmadModule *owner;
	gpointer data;
	RdmadEvent *deadline;
	GList node;
};

void rdmad_job_unref(RdmadJob *job);

RdmadWorkPool *rdmad_work_pool_new(guint max_threads, GError **error);
/* All jobs must be cancelled.  Waits, for a limited time, until the threads have freed the
 * remaining jobs. */
void rdmad_work_pool_free(RdmadWorkPool *pool);

/* Returns a descriptor that is readable when jobs have finished. */
int rdmad_work_pool_fd(const RdmadWorkPool *pool);
/* Takes a reference over on success.  Never fails for a job without `run`.  Sets `grow_ms` to
 * the same value that rdmad_work_pool_grow() returns. */
gboolean rdmad_work_pool_push(RdmadWorkPool *pool, RdmadJob *job, guint *grow_ms, GError **error);
/* Starts threads for waiting jobs, up to the limit.  Returns the delay after which to call it
 * again, because a job will count as long then; 0: never. */
guint rdmad_work_pool_grow(RdmadWorkPool *pool);
/* Gets the jobs that have finished since the last call, with their references. */
void rdmad_work_pool_take(RdmadWorkPool *pool, GQueue *finished);
/* Has a thread free a cancelled job that was taken.  Takes the reference over. */
void rdmad_work_pool_return(RdmadWorkPool *pool, RdmadJob *job);
guint rdmad_work_pool_threads(RdmadWorkPool *pool);
