/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads behind rdmad/work.h: jobs wait for one, finished jobs wait for the loop
 *
 * A job has two holders, the loop's side and the threads'; the last one frees it.
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
	int cancelled; /* atomic: its result is no longer wanted */

	/* The pool's side until it has finished, under its lock. */
	GList run_node;
	gint64 began_us;
	gint64 took_us;
	gboolean returned; /* by the loop: only to be freed */

	/* The loop's side only. */
	RdmadWorkers *workers; /* NULL once it is no longer open */
	RdmadModule *owner;
	gpointer data;
	RdmadEvent *deadline;
	GList node;
};

void rdmad_job_unref(RdmadJob *job);

RdmadWorkPool *rdmad_work_pool_new(guint max_threads, GError **error);
/* All jobs are cancelled.  The threads free what is left; waits for them, but not for ever. */
void rdmad_work_pool_free(RdmadWorkPool *pool);

/* Readable when jobs have finished. */
int rdmad_work_pool_fd(const RdmadWorkPool *pool);
/* Takes a reference over, unless it fails; a job without `run` never fails.  `grow_ms` is set as
 * rdmad_work_pool_grow() returns it. */
gboolean rdmad_work_pool_push(RdmadWorkPool *pool, RdmadJob *job, guint *grow_ms, GError **error);
/* Starts threads for jobs that wait, as far as there may be more.  When to call it again, because then
 * a job will have been running for long; 0: no need. */
guint rdmad_work_pool_grow(RdmadWorkPool *pool);
/* The jobs that have finished since the last call, with their references. */
void rdmad_work_pool_take(RdmadWorkPool *pool, GQueue *finished);
/* A cancelled job that was taken: a thread frees it.  Takes the reference over. */
void rdmad_work_pool_return(RdmadWorkPool *pool, RdmadJob *job);
guint rdmad_work_pool_threads(RdmadWorkPool *pool);
