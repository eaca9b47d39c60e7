/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that close themselves (g_autofd is newer than the GLib that we build on), and their
 * contents as a whole */
#pragma once

#include <errno.h>
#include <rdmad/types.h>
#include <unistd.h>

static inline int rdmad_steal_fd(int *fd)
{
	const int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* Leaves errno as it was: it runs on error paths, after errno was set. */
static inline void rdmad_clear_fd(int *fd)
{
	const int saved = errno;

	if (*fd >= 0)
		close(rdmad_steal_fd(fd));
	errno = saved;
}

#define rdmad_autofd __attribute__((cleanup(rdmad_clear_fd)))

/* Appends the rest of the file to `text`, until this is longer than `max`: then the file is too large.
 * Returns FALSE with errno after an error. */
RDMAD_API gboolean rdmad_fd_read_all(int fd, gsize max, GString *text);
/* Returns FALSE with errno after an error. */
RDMAD_API gboolean rdmad_fd_write_all(int fd, gconstpointer bytes, gsize size);
