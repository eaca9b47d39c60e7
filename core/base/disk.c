/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/disk.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64u << 10)

/* Some filesystems cannot sync directories, and unreadable directories cannot be opened for it.
 * These errors are ignored: the directory is still usable. */
static gboolean sync_is_refused(int errnum)
{
	return errnum == EINVAL || errnum == EACCES || errnum == EROFS;
}

static int parent_sync(int dir, const char *path)
{
	g_autofree char *parent = g_path_get_dirname(path);
	rdmad_autofd int fd = openat(dir, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return (fd >= 0 && fsync(fd) == 0) || sync_is_refused(errno) ? 0 : -1;
}

int rdmad_disk_mkdir(int dir, const char *path, mode_t mode, RdmadDiskLife life)
{
	const int made = mkdirat(dir, path, mode);
	const int errnum = errno;

	if (made < 0 && errnum != EEXIST)
		return -1;
	if (life == RDMAD_DISK_FOR_GOOD && parent_sync(dir, path) < 0)
		return -1;
	errno = errnum;
	return made;
}

int rdmad_disk_replace(int dir, const char *from, const char *to, int fd, RdmadDiskLife life)
{
	if (life == RDMAD_DISK_FOR_GOOD && fsync(fd) < 0)
		return -1;
	return renameat(dir, from, dir, to);
}

int rdmad_disk_move(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0
		       ? parent_sync(AT_FDCWD, to)
		       : -1;
}

int rdmad_disk_rewrite(int fd)
{
	g_autofree guint8 *bytes = g_malloc(CHUNK);
	ssize_t n, written;

	for (off_t at = 0; (n = pread(fd, bytes, CHUNK, at)) > 0; at += written) {
		written = pwrite(fd, bytes, (gsize)n, at);
		if (written < 0)
			return -1;
	}
	return n == 0 ? fdatasync(fd) : -1;
}
