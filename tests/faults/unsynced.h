/* SPDX-License-Identifier: Apache-2.0 */
/* Loss in a power failure: writes to files that no fsync() has followed. */
#ifndef RDMAD_TEST_UNSYNCED_H
#define RDMAD_TEST_UNSYNCED_H

#include <stddef.h>
#include <sys/types.h>

/* Before `size` bytes at `at` of a regular file change, or what follows them is cut off. */
void unsynced_remember(int fd, off_t at, size_t size);

/* After an fsync() that succeeded. */
void unsynced_forget(int fd);

/* Makes the files what the disk holds.  Locks are lost with it: for a process that is about to end. */
void unsynced_undo(void);

#endif
