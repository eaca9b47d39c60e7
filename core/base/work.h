/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/work.h>

/* `threads` are started as jobs come, and end after a quiet time: an idle daemon has none.  A job
 * that runs for RDMAD_WORK_LONG_MS no longer counts as one of them, so that jobs that hang delay no
 * others, up to RDMAD_WORK_THREADS_MAX in all. */
#define RDMAD_WORK_LONG_MS     250
#define RDMAD_WORK_THREADS_MAX 32u
RdmadWorkers *rdmad_workers_new(RdmadLoop *loop, guint threads, GError **error);
/* Waits for jobs that are running, without their `done`. */
void rdmad_workers_free(RdmadWorkers *workers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadWorkers, rdmad_workers_free)
/* Number of threads. */
guint rdmad_workers_threads(const RdmadWorkers *workers);
guint rdmad_workers_reap(RdmadWorkers *workers, const RdmadModule *owner);
