/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for others to read, whatever the umask
 *
 * Readers see a file's old text or its new one, never a part, after a power failure as well.  A file is written as ".NAME.tmp"
 * beside its place and renamed; one that a kill left behind is overwritten by the next write.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Opens a directory and makes what is missing of its absolute path, with mode 0755.  `flags` is
 * O_NOFOLLOW or, for a directory that is not ours alone, 0.  -1: RDMAD_ERROR_FAILED. */
RDMAD_API int rdmad_public_dir_open(const char *path, int flags,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Writes or replaces `name` in the open directory `dir`; `path`, of the directory, is for errors.
 * RDMAD_ERROR_FAILED: the file is as it was. */
RDMAD_API gboolean rdmad_public_file_write(int dir, const char *path, const char *name,
					   const char *text, mode_t mode, GError **error);
/* The same of bytes that are not text. */
RDMAD_API gboolean rdmad_public_file_write_bytes(int dir, const char *path, const char *name,
						 GBytes *bytes, mode_t mode, GError **error);
/* Whether `name` is of a file that a write had not finished. */
RDMAD_API gboolean rdmad_public_file_is_unfinished(const char *name);
/* Removes what an interrupted write of `name` left. */
RDMAD_API void rdmad_public_file_clean(int dir, const char *name);
