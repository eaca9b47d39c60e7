/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/web-file.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

static gboolean file_error(const char *path, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s", path, why);
	return FALSE;
}

static void stamp_set(WebStamp *stamp, const struct stat *st)
{
	*stamp = (WebStamp){ st->st_dev,  st->st_ino,  st->st_size,
			     st->st_mode, st->st_mtim, st->st_ctim };
}

static gboolean file_is_good(int fd, const char *path, struct stat *st, GError **error)
{
	if (fstat(fd, st) < 0)
		return file_error(path, g_strerror(errno), error);
	if (!S_ISREG(st->st_mode))
		return file_error(path, "not a regular file", error);
	if (st->st_size > WEB_FILE_MAX)
		return file_error(path, "larger than 1 MiB", error);
	return TRUE;
}

/* It may grow meanwhile. */
static gssize read_all(int fd, char *text, gsize size)
{
	gsize have = 0;

	while (have < size) {
		const gssize n = read(fd, text + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += n;
	}
	return have;
}

char *web_file_read(const char *path, gsize *size, WebStamp *stamp, GError **error)
{
	/* Without O_NONBLOCK a FIFO would hold us until somebody writes. */
	g_autofree char *text = NULL;
	rdmad_autofd int fd = -1;
	struct stat st;
	gssize n;

	web_file_stamp(path, stamp);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		file_error(path, g_strerror(errno), error);
		return NULL;
	}
	if (!file_is_good(fd, path, &st, error))
		return NULL;
	text = g_malloc(st.st_size + 1);
	n = read_all(fd, text, st.st_size);
	if (n < 0) {
		file_error(path, g_strerror(errno), error);
		return NULL;
	}
	text[n] = '\0';
	*size = n;
	stamp_set(stamp, &st);
	return g_steal_pointer(&text);
}

void web_file_stamp(const char *path, WebStamp *stamp)
{
	struct stat st;

	*stamp = (WebStamp){ 0 };
	if (stat(path, &st) == 0)
		stamp_set(stamp, &st);
}

gboolean web_stamp_equal(const WebStamp *a, const WebStamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}
