/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that allows one rdmad for each run directory and each state directory.  The lock ends
 * with the process; its file is kept. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Returns a descriptor that holds the lock until it is closed, or -1.  RDMAD_ERROR_BUSY: another
 * process holds it; then `holder` is the process id from the file, or 0. */
int rdmad_lock_try(const char *path, pid_t *holder, GError **error);
/* Returns whether a process holds the lock; FALSE if that is unknown. */
gboolean rdmad_lock_is_held(const char *path);
