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
/* Returns this one. */
const RdmadLockHolder *rdmad_place_self(const RdmadPlace *place);
/* Returns which rdmad held the lock of the run directory last, before this one took it. */
const RdmadLockHolder *rdmad_place_predecessor(const RdmadPlace *place);
#define RDMAD_PLACE_LOCKS 2u
/* Stores the borrowed descriptors that hold the locks, and returns their number. */
guint rdmad_place_locks(const RdmadPlace *place, int *fds);
/* Takes over the descriptors of another rdmad that hold the locks of these directories, and sets
 * them to -1: no third one can lock them in between.  The others stay as they are. */
void rdmad_place_adopt(RdmadPlace *place, int *fds, guint n_fds);
/* Returns whether another process holds one of the locks, without taking it. */
gboolean rdmad_place_is_held(const RdmadPlace *place);
