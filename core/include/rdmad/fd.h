/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that are closed at the end of their scope (g_autofd needs a newer GLib), and reads
 * and writes of whole files and directories */
#pragma once

#include <errno.h>
#include <rdmad/types.h>
#include <unistd.h>

/* Returns the descriptor, and sets `*fd` to -1. */
static inline int rdmad_steal_fd(int *fd)
{
	const int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* Closes the descriptor unless it is -1, and sets `*fd` to -1.  Preserves errno, for error
 * paths. */
static inline void rdmad_clear_fd(int *fd)
{
	const int saved = errno;

	if (*fd >= 0)
		close(rdmad_steal_fd(fd));
	errno = saved;
}

#define rdmad_autofd __attribute__((cleanup(rdmad_clear_fd)))

/* Appends the rest of the file to `text`, at most until `text` is longer than `max` bytes: then the
 * file is too large.  Returns FALSE with errno after an error. */
RDMAD_API gboolean rdmad_fd_read_all(int fd, gsize max, GString *text);
/* Writes all bytes.  Returns FALSE with errno after an error. */
RDMAD_API gboolean rdmad_fd_write_all(int fd, gconstpointer bytes, gsize size);
/* Returns the names in the directory at `path`, relative to `dir` as for openat(2), without "." and
 * ".."; g_strfreev().  Returns NULL with errno after an error, never an incomplete list. */
RDMAD_API char **rdmad_fd_list(int dir, const char *path);
