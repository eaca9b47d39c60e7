/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory and the state directory with their locks, which exclude any other rdmad */
#pragma once

#include "daemon/lock.h"

typedef struct RdmadPlace RdmadPlace;

/* `state_dir` may be NULL.  Does not access the directories. */
RdmadPlace *rdmad_place_new(const char *run_dir, const char *state_dir);
void rdmad_place_free(RdmadPlace *place);
/*
 * Creates and locks the directories, initially and whenever a directory or a lock file was removed
 * or replaced.
 *
 * RDMAD_ERROR_BUSY: another rdmad, `holder`, holds a lock.
 */
gboolean rdmad_place_keep(RdmadPlace *place, RdmadLockHolder *holder, GError **error);
/* Returns which rdmad held the lock of the run directory last, before this one took it. */
const RdmadLockHolder *rdmad_place_predecessor(const RdmadPlace *place);
/* Returns whether another process holds one of the locks, without taking it. */
gboolean rdmad_place_is_held(const RdmadPlace *place);
