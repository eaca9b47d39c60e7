/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/fd.h>

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
