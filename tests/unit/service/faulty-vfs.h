/* SPDX-License-Identifier: Apache-2.0 */
/* A VFS of SQLite in which chosen calls fail */
#pragma once

#include <glib.h>

typedef enum {
	FAULT_OPEN,	 /* fails */
	FAULT_OPEN_READ, /* returns a read-only handle */
	FAULT_READ,
	FAULT_WRITE,
	FAULT_SYNC,
	FAULT_LOCK,
	FAULT_SIZE,
	FAULT_N_CALLS,
} FaultCall;

/* Makes this VFS the default. */
void faulty_vfs_register(void);
/* Makes the `nth` call (from 1) of that kind, and `more` calls after it, fail with SQLite's `code`.
 * FAULT_N_CALLS: none fails. */
void faulty_vfs_arm(FaultCall call, guint nth, guint more, int code);
/* Returns whether any call has failed since then. */
gboolean faulty_vfs_fired(void);
