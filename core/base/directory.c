/* SPDX-License-Identifier: Apache-2.0 */
#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/disk.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sys/stat.h>

/* Creates parents with mode 0755, regardless of the umask, because subdirectories may be public. */
static gboolean directory_make(const char *path, mode_t mode, RdmadDiskLife life, GError **error)
{
	g_autofree char *parent = g_path_get_dirname(path);

	if (rdmad_disk_mkdir(AT_FDCWD, path, mode, life) == 0 || errno == EEXIST)
		return TRUE;
	/* procfs returns ENOENT below a directory that exists. */
	if (errno == ENOENT && g_str_has_prefix(path, "/") && access(parent, F_OK) < 0 &&
	    errno == ENOENT) {
		if (!rdmad_directory_prepare(parent, 0755, life, error))
			return FALSE;
		if (rdmad_disk_mkdir(AT_FDCWD, path, mode, life) == 0 || errno == EEXIST)
			return TRUE;
	}
	return rdmad_error_errno(error, errno, "cannot make the directory %s", path);
}

static gboolean directory_check(const char *path, const struct stat *st, GError **error)
{
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s belongs to user %u; it must belong to root or to user %u", path,
			    st->st_uid, geteuid());
		return FALSE;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s may be written to by others (mode %04o); check its contents, then "
			    "chmod go-w %s",
			    path, st->st_mode & 07777, path);
		return FALSE;
	}
	return TRUE;
}

int rdmad_directory_open(const char *path, mode_t mode, RdmadDiskLife life, GError **error)
{
	rdmad_autofd int fd = -1;
	struct stat st;

	if (!directory_make(path, mode, life, error))
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s is not a directory (symbolic links are refused); remove it", path);
		return -1;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		rdmad_error_errno(error, errno, "cannot open the directory %s", path);
		return -1;
	}
	if (!directory_check(path, &st, error))
		return -1;
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0) {
		rdmad_error_errno(error, errno, "cannot give %s the mode %04o", path, mode);
		return -1;
	}
	return rdmad_steal_fd(&fd);
}

gboolean rdmad_directory_prepare(const char *path, mode_t mode, RdmadDiskLife life, GError **error)
{
	rdmad_autofd int fd = rdmad_directory_open(path, mode, life, error);

	return fd >= 0;
}
