/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that allows one rdmad for each run directory and each state directory.  The lock ends
 * with the process; its file is kept, with the last holder. */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct {
	pid_t pid;  /* 0: unknown */
	guint64 id; /* random, because each container may have the same pid */
} RdmadLockHolder;

/* Returns this process with a new id. */
RdmadLockHolder rdmad_lock_holder_new(void);
/* Returns FALSE also if one of them is unknown. */
gboolean rdmad_lock_holder_equal(const RdmadLockHolder *a, const RdmadLockHolder *b);

/* Returns a descriptor that holds the lock until it is closed, or -1.  Stores in `holder` which
 * process held the lock before `self`, or holds it: RDMAD_ERROR_BUSY. */
int rdmad_lock_try(const char *path, const RdmadLockHolder *self, RdmadLockHolder *holder,
		   GError **error);
/* Makes `self` the holder of a lock that another process has passed on with its descriptor.  Stores
 * in `holder` which one. */
gboolean rdmad_lock_adopt(int fd, const char *path, const RdmadLockHolder *self,
			  RdmadLockHolder *holder, GError **error);
/* Returns whether a process holds the lock; TRUE if that is unknown. */
gboolean rdmad_lock_is_held(const char *path);
