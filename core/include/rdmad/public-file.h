/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public files: files that other users may read, whatever the umask
 *
 * A reader sees the old text of a file or the new one, never a part; so after a power failure, if
 * the file is written for good (disk.h).  A file is written as ".NAME.tmp" in its directory, and
 * renamed.  If a process is killed meanwhile, the next write replaces ".NAME.tmp".
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Returns a descriptor of a directory, or -1.  Missing directories of its absolute path are made
 * with mode 0755.  `flags` is O_NOFOLLOW or, for a directory that rdmad shares with others, 0.
 * RDMAD_ERROR_FAILED. */
RDMAD_API int rdmad_public_dir_open(const char *path, int flags,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes or replaces `name` in the open directory `dir`, whose `path` is for errors, unless the
 * file has this text and mode.  RDMAD_ERROR_FAILED: the file is unchanged. */
RDMAD_API gboolean rdmad_public_file_write(int dir, const char *path, const char *name,
					   const char *text, mode_t mode, RdmadDiskLife life,
					   GError **error);
/* Writes or replaces `name` as rdmad_public_file_write() does. */
RDMAD_API gboolean rdmad_public_file_write_bytes(int dir, const char *path, const char *name,
						 GBytes *bytes, mode_t mode, RdmadDiskLife life,
						 GError **error);
/* Returns whether `name` is that of an unfinished file: ".*.tmp". */
RDMAD_API gboolean rdmad_public_file_is_unfinished(const char *name);
/* Removes the unfinished file of `name`. */
RDMAD_API void rdmad_public_file_clean(int dir, const char *name);
