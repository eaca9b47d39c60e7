/* SPDX-License-Identifier: Apache-2.0 */
/* One rdmad for each run directory and each state directory.  The file stays; its lock goes with us. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* A descriptor that holds the lock until it is closed, or -1.  RDMAD_ERROR_BUSY: another process
 * has it; then `holder` is its process id as it wrote it, or 0. */
int rdmad_lock_try(const char *path, pid_t *holder, GError **error);
/* Whether a process has it.  FALSE if that is unknown. */
gboolean rdmad_lock_is_held(const char *path);
