/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/work.h>

/* `threads` are started as jobs come, and end after a quiet time: an idle daemon has none. */
RdmadWorkers *rdmad_workers_new(RdmadLoop *loop, guint threads);
/* Waits for jobs that are running, without their `done`. */
void rdmad_workers_free(RdmadWorkers *workers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadWorkers, rdmad_workers_free)
guint rdmad_workers_reap(RdmadWorkers *workers, const RdmadModule *owner);
