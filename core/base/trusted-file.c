/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trusted-file.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdlib.h>
#include <sys/stat.h>

static gboolean trusted_refuse(GError **error, const char *path, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s", path, why);
	return FALSE;
}

static gboolean trusted_owner(const struct stat *st, const char *path, GError **error)
{
	if (st->st_uid == 0 || st->st_uid == geteuid())
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%s: belongs to user %u, who could replace it; chown root", path, st->st_uid);
	return FALSE;
}

static gboolean trusted_directory(int fd, const char *path, gboolean last, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return rdmad_error_errno(error, errno, "%s", path);
	if (!trusted_owner(&st, path, error))
		return FALSE;
	if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return TRUE;
	if ((st.st_mode & S_ISVTX) && !last)
		return TRUE;
	return trusted_refuse(
		error, path,
		"others may write to this directory, and replace its files; chmod go-w");
}

static gboolean trusted_regular(int fd, const char *path, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return rdmad_error_errno(error, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return trusted_refuse(error, path, "not a regular file");
	if (!trusted_owner(&st, path, error))
		return FALSE;
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return trusted_refuse(error, path, "others may write to this file; chmod go-w");
	return TRUE;
}

int rdmad_trusted_directory_open(const char *directory, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(directory, "/", -1);
	g_autoptr(GString) path = g_string_new("/");
	rdmad_autofd int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	g_assert(g_path_is_absolute(directory));
	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot open the directory /");
		return -1;
	}
	if (!trusted_directory(fd, path->str, parts[1][0] == '\0', error))
		return -1;
	for (char **part = parts; *part; part++) {
		rdmad_autofd int next = -1;

		if (!**part)
			continue;
		g_string_append_printf(path, path->len > 1 ? "/%s" : "%s", *part);
		next = openat(fd, *part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			rdmad_error_errno(error, errno, "cannot open the directory %s", path->str);
			return -1;
		}
		if (!trusted_directory(next, path->str, part[1] == NULL, error))
			return -1;
		rdmad_clear_fd(&fd);
		fd = rdmad_steal_fd(&next);
	}
	return rdmad_steal_fd(&fd);
}

static gboolean trusted_open_error(const char *path, GError **error)
{
	switch (errno) {
	case ENOENT:
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "%s: no such file", path);
		return FALSE;
	case ELOOP:
		return trusted_refuse(error, path, "a symbolic link; put the file itself there");
	case ENXIO: /* a socket, or a device without a driver */
		return trusted_refuse(error, path, "not a regular file");
	default:
		return rdmad_error_errno(error, errno, "cannot open %s", path);
	}
}

int rdmad_trusted_file_open(const char *directory, const char *name, GError **error)
{
	g_autofree char *real = realpath(directory, NULL);
	g_autofree char *path = g_build_filename(real ?: directory, name, NULL);
	rdmad_autofd int dir = -1;
	rdmad_autofd int fd = -1;

	g_assert(!strchr(name, '/'));
	if (!real) {
		trusted_open_error(path, error);
		return -1;
	}
	dir = rdmad_trusted_directory_open(real, error);
	if (dir < 0)
		return -1;
	/* Without O_NONBLOCK, opening a FIFO blocks until there is a writer. */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		trusted_open_error(path, error);
		return -1;
	}
	return trusted_regular(fd, path, error) ? rdmad_steal_fd(&fd) : -1;
}
