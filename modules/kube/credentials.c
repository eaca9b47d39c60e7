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

char *kube_token_header_read(const char *path, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || !rdmad_fd_read_all(fd, TOKEN_MAX, text)) {
		unavailable(error, path, g_strerror(errno));
		return NULL;
	}
	if (text->len <= TOKEN_MAX && strlen(text->str) == text->len &&
	    token_is_valid(g_strstrip(text->str)))
		return g_strconcat("Authorization: Bearer ", text->str, NULL);
	unavailable(error, path, "no token");
	return NULL;
}
