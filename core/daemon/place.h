/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory and the state directory with their locks, which exclude any other rdmad */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct RdmadPlace RdmadPlace;

/* `state_dir` may be NULL.  Does not access the directories. */
RdmadPlace *rdmad_place_new(const char *run_dir, const char *state_dir);
void rdmad_place_free(RdmadPlace *place);
/*
 * Creates and locks the directories, initially and whenever a directory or a lock file was removed
 * or replaced.
 *
 * RDMAD_ERROR_BUSY: another rdmad holds a lock; then `holder` is its process id, or 0.
 */
gboolean rdmad_place_keep(RdmadPlace *place, pid_t *holder, GError **error);
/* Returns whether another process holds one of the locks, without taking it. */
gboolean rdmad_place_is_held(const RdmadPlace *place);
