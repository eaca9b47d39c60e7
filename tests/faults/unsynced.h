/* SPDX-License-Identifier: Apache-2.0 */
/* Unsynced writes: the loss of unsynced data in a power failure */
#ifndef RDMAD_TEST_UNSYNCED_H
#define RDMAD_TEST_UNSYNCED_H

#include <stddef.h>
#include <sys/types.h>

/* Records `size` bytes at `at` of a regular file before they are overwritten or truncated. */
void unsynced_record(int fd, off_t at, size_t size);

/* Drops the records of a file after a successful fsync(). */
void unsynced_drop(int fd);

/* Restores the contents on disk.  Releases the locks of the process, which must be about to end. */
void unsynced_undo(void);

#endif
