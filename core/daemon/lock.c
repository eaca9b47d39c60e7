/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define ID_DIGITS 16

RdmadLockHolder rdmad_lock_holder_new(void)
{
	const guint64 id = (guint64)rdmad_random() << 32 | rdmad_random();

	return (RdmadLockHolder){ .pid = getpid(), .id = id };
}

gboolean rdmad_lock_holder_equal(const RdmadLockHolder *a, const RdmadLockHolder *b)
{
	return a->pid && a->pid == b->pid && a->id == b->id;
}

/* Returns an unknown holder if the file has something else. */
static RdmadLockHolder lock_read_holder(int fd)
{
	char text[64];
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	g_auto(GStrv) lines = NULL;
	guint64 pid, id;

	text[MAX(n, 0)] = '\0';
	lines = g_strsplit(text, "\n", 3);
	if (g_strv_length(lines) < 2 ||
	    !g_ascii_string_to_unsigned(lines[0], 10, 1, G_MAXINT, &pid, NULL) ||
	    strlen(lines[1]) != ID_DIGITS ||
	    !g_ascii_string_to_unsigned(lines[1], 16, 0, G_MAXUINT64, &id, NULL))
		return (RdmadLockHolder){ 0 };
	return (RdmadLockHolder){ (pid_t)pid, id };
}

/* Writes before it truncates, so that a full disk has room. */
static gboolean lock_write_holder(int fd, const char *path, const RdmadLockHolder *self,
				  GError **error)
{
	char text[64];
	const int n = g_snprintf(text, sizeof(text), "%d\n%016" G_GINT64_MODIFIER "x\n",
				 (int)self->pid, self->id);

	if (pwrite(fd, text, n, 0) != n || ftruncate(fd, n) < 0)
		return rdmad_error_errno(error, errno, "cannot write %s", path);
	return TRUE;
}

int rdmad_lock_try(const char *path, const RdmadLockHolder *self, RdmadLockHolder *holder,
		   GError **error)
{
	rdmad_autofd int fd = -1;
	gboolean taken;

	*holder = (RdmadLockHolder){ 0 };
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot open %s", path);
		return -1;
	}
	taken = flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (!taken && errno != EWOULDBLOCK) {
		rdmad_error_errno(error, errno, "cannot lock %s", path);
		return -1;
	}
	*holder = lock_read_holder(fd);
	if (taken)
		return lock_write_holder(fd, path, self, error) ? rdmad_steal_fd(&fd) : -1;
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
		"%s is held by another rdmad, process %d; stop it, or use another --run-dir and "
		"--state-dir",
		path, (int)holder->pid);
	return -1;
}

gboolean rdmad_lock_adopt(int fd, const char *path, const RdmadLockHolder *self,
			  RdmadLockHolder *holder, GError **error)
{
	*holder = lock_read_holder(fd);
	return lock_write_holder(fd, path, self, error);
}

/* A reader with a shared lock does not disturb others; a client of the exclusive lock tries again.
 * After another error (EMFILE, EACCES, EIO) a process may hold the lock. */
gboolean rdmad_lock_is_held(const char *path)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? errno != ENOENT : flock(fd, LOCK_SH | LOCK_NB) < 0;
}
