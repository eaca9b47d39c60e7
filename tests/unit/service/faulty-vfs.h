/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's way to the system, of which a test lets chosen calls fail. */
#pragma once

#include <glib.h>

typedef enum {
	FAULT_OPEN,	 /* fails */
	FAULT_OPEN_READ, /* gives a handle that may only read */
	FAULT_READ,
	FAULT_WRITE,
	FAULT_SYNC,
	FAULT_LOCK,
	FAULT_SIZE,
	FAULT_N_CALLS,
} FaultCall;

/* Stands before the default from here on. */
void faulty_vfs_register(void);
/* The `nth` call (from 1) of that kind fails with SQLite's `code`, and `more` after it.
 * FAULT_N_CALLS: none does. */
void faulty_vfs_arm(FaultCall call, guint nth, guint more, int code);
/* Whether any failed since. */
gboolean faulty_vfs_fired(void);
