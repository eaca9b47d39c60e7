/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that close themselves: g_autofd is newer than the GLib that we build on. */
#pragma once

#include <errno.h>
#include <glib.h>
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
