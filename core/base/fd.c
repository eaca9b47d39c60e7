/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/fd.h>

#include <dirent.h>
#include <fcntl.h>

gboolean rdmad_fd_read_all(int fd, gsize max, GString *text)
{
	char part[16384];
	gssize n = 1;

	while (n != 0 && text->len <= max) {
		n = read(fd, part, MIN(sizeof(part), max + 1 - text->len));
		if (n > 0)
			g_string_append_len(text, part, n);
		else if (n < 0 && errno != EINTR)
			return FALSE;
	}
	return TRUE;
}

gboolean rdmad_fd_write_all(int fd, gconstpointer bytes, gsize size)
{
	const guint8 *at = bytes;

	while (size) {
		const gssize n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FALSE;
		at += n;
		size -= (gsize)n;
	}
	return TRUE;
}

char **rdmad_fd_list(int dir, const char *path)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	/* Has an offset of its own, and is closed with the stream. */
	rdmad_autofd int own = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	int errnum;

	if (!stream)
		return NULL;
	rdmad_steal_fd(&own);
	for (errno = 0; (entry = readdir(stream)); errno = 0)
		if (!g_str_equal(entry->d_name, ".") && !g_str_equal(entry->d_name, ".."))
			g_strv_builder_add(names, entry->d_name);
	errnum = errno;
	closedir(stream);
	errno = errnum;
	return errnum ? NULL : g_strv_builder_end(names);
}
