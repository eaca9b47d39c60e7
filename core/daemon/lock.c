/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <sys/file.h>

static pid_t lock_read_holder(int fd)
{
	char text[32];
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	guint64 pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (!g_ascii_string_to_unsigned(g_strchomp(text), 10, 1, G_MAXINT, &pid, NULL))
		return 0;
	return pid;
}

static gboolean lock_write_holder(int fd, const char *path, GError **error)
{
	char text[32];
	const int n = g_snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, n, 0) != n)
		return rdmad_error_errno(error, errno, "cannot write %s", path);
	return TRUE;
}

int rdmad_lock_try(const char *path, pid_t *holder, GError **error)
{
	rdmad_autofd int fd = -1;

	*holder = 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot open %s", path);
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return lock_write_holder(fd, path, error) ? rdmad_steal_fd(&fd) : -1;
	if (errno != EWOULDBLOCK) {
		rdmad_error_errno(error, errno, "cannot lock %s", path);
		return -1;
	}
	*holder = lock_read_holder(fd);
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
		"%s is held by another rdmad, process %d; stop it, or use another --run-dir and "
		"--state-dir",
		path, (int)*holder);
	return -1;
}

/* A reader with a shared lock does not disturb others; a client of the exclusive lock tries again. */
gboolean rdmad_lock_is_held(const char *path)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
