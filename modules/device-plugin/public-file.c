/* SPDX-License-Identifier: Apache-2.0 */
#include "public-file.h"

#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static gboolean write_all(int fd, const char *text, gsize size)
{
	while (size) {
		const ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FALSE;
		text += n;
		size -= (gsize)n;
	}
	return TRUE;
}

static gboolean file_fill(int fd, const char *text, mode_t mode)
{
	return write_all(fd, text, strlen(text)) && fchmod(fd, mode) == 0;
}

gboolean rdmad_public_file_write(const char *path, const char *text, mode_t mode, GError **error)
{
	/* Hidden, and without the suffix by which readers of the folder choose their files. */
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *name = g_path_get_basename(path);
	g_autofree char *draft = g_strdup_printf("%s/.%s.XXXXXX", folder, name);
	rdmad_autofd int fd = g_mkstemp_full(draft, O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && errno == ENOENT) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "there is no folder %s",
			    folder);
		return FALSE;
	}
	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot make a file in %s", folder);
	if (file_fill(fd, text, mode) && rename(draft, path) == 0)
		return TRUE;
	rdmad_error_errno(error, errno, "cannot write %s", path);
	unlink(draft);
	return FALSE;
}

gboolean rdmad_public_folder_make(const char *path, GError **error)
{
	g_autofree char *parent = g_path_get_dirname(path);

	if (access(path, F_OK) == 0)
		return TRUE;
	if (parent[1] && !rdmad_public_folder_make(parent, error))
		return FALSE;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return rdmad_error_errno(error, errno, "cannot make the folder %s", path);
	if (chmod(path, 0755) < 0)
		return rdmad_error_errno(error, errno, "cannot give %s the mode 0755", path);
	return TRUE;
}
