/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of directories and files that are whole after a power failure
 *
 * Each function returns 0, or -1 with errno.  tests/style/check-includes.py forbids these system
 * calls elsewhere, with exceptions.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Calls mkdirat(2).  FOR_GOOD syncs the parent directory, also after EEXIST: a killed process may
 * have made the directory without syncing it; ignores that a filesystem cannot sync directories. */
RDMAD_API int rdmad_disk_mkdir(int dir, const char *path, mode_t mode, RdmadDiskLife life);
/* Renames the open file `fd` from `from` to `to`, relative to `dir`.  A reader of `to` finds the
 * whole old file or the whole new one; FOR_GOOD syncs the file first, so that either is possible
 * after a power failure. */
RDMAD_API int rdmad_disk_replace(int dir, const char *from, const char *to, int fd,
				 RdmadDiskLife life);
/* Renames a file, and syncs the parent directory of `to`.  Fails with EEXIST if `to` exists. */
RDMAD_API int rdmad_disk_move(const char *from, const char *to);
/* Writes each byte of the open file again in its place, and syncs the file: after a failed
 * fsync(2), the kernel no longer writes the dirty pages that it could not write. */
RDMAD_API int rdmad_disk_rewrite(int fd);
