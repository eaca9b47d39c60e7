/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory and the state directory with their locks: this rdmad's alone while it has them. */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct RdmadPlace RdmadPlace;

/* `state_dir` NULL: there is none.  Touches nothing. */
RdmadPlace *rdmad_place_new(const char *run_dir, const char *state_dir);
void rdmad_place_free(RdmadPlace *place);
/*
 * Makes and locks what is missing, at first and whenever a directory or a lock file was removed or
 * replaced since.
 *
 * RDMAD_ERROR_BUSY: another rdmad holds a lock; then `holder` is its process id, or 0.
 */
gboolean rdmad_place_keep(RdmadPlace *place, pid_t *holder, GError **error);
/* Whether another process holds one of the locks; it is not taken. */
gboolean rdmad_place_is_held(const RdmadPlace *place);
