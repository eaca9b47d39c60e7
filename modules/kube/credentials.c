/* SPDX-License-Identifier: Apache-2.0 */
#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_MAX 16384u

static gboolean token_is_valid(const char *token)
{
	for (const char *c = token; *c; c++)
		if (!g_ascii_isgraph(*c))
			return FALSE;
	return *token;
}

static gboolean unavailable(GError **error, const char *path, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "%s: %s", path, why);
	return FALSE;
}

static gboolean file_read(const char *path, char text[TOKEN_MAX + 2], GError **error)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	gsize length = 0;
	gssize n = -1;

	while (fd >= 0 && length <= TOKEN_MAX) {
		n = read(fd, text + length, TOKEN_MAX + 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (gsize)n;
	}
	if (n < 0)
		return unavailable(error, path, g_strerror(errno));
	text[length] = '\0';
	return length <= TOKEN_MAX && strlen(text) == length ? TRUE
							     : unavailable(error, path, "no token");
}

char *kube_token_header_read(const char *path, GError **error)
{
	char text[TOKEN_MAX + 2];

	if (!file_read(path, text, error))
		return NULL;
	g_strstrip(text);
	if (token_is_valid(text))
		return g_strconcat("Authorization: Bearer ", text, NULL);
	unavailable(error, path, "no token");
	return NULL;
}
