/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/work.h>

/* Up to `threads` threads are started on demand; an idle thread ends after a while, so an idle
 * daemon has none.  The thread of a job that runs for RDMAD_WORK_LONG_MS does not count, so that
 * hanging jobs do not delay others, up to a total of RDMAD_WORK_THREADS_MAX. */
#define RDMAD_WORK_LONG_MS     250
#define RDMAD_WORK_THREADS_MAX 32u
RdmadWorkers *rdmad_workers_new(RdmadLoop *loop, guint threads, GError **error);
/* Waits for running jobs without calling `done`. */
void rdmad_workers_free(RdmadWorkers *workers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadWorkers, rdmad_workers_free)
/* Returns the number of running threads. */
guint rdmad_workers_threads(const RdmadWorkers *workers);
guint rdmad_workers_reap(RdmadWorkers *workers, const RdmadModule *owner);
