/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of directories and files that are whole after a power failure; a checker holds that there are no others
 *
 * Each returns 0, or -1 with errno, as the call of the kernel that it is about.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* mkdirat(), and the name is on the disk; also with EEXIST, because a run that was killed may have left
 * it only in memory. */
RDMAD_API int rdmad_disk_mkdir(int dir, const char *path, mode_t mode);
/* Renames the open file `fd` over `to`: whoever reads `to`, after a power failure as well, finds all of
 * the old file or all of the new one.  Which of them after a failure is open. */
RDMAD_API int rdmad_disk_replace(int dir, const char *from, const char *to, int fd);
/* Renames a file that never replaces another, and the new name is on the disk. */
RDMAD_API int rdmad_disk_move(const char *from, const char *to);
/* Writes each byte of the open file again where it is, and waits for the disk: after an fsync that failed, the page cache
 * has bytes that the kernel does not write any more. */
RDMAD_API int rdmad_disk_rewrite(int fd);
