/* SPDX-License-Identifier: Apache-2.0 */
#include "config/source.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/redactor.h"

#define ERRORS_MAX 8192u /* bytes of all messages together */

/* Appends a line, unless it is there already. */
static void error_append(GError *error, const char *where, const char *what)
{
	g_autofree char *line = g_strconcat(where, ": ", what, NULL);
	g_autofree char *before = error->message;

	if (strstr(before, line) || strlen(before) > ERRORS_MAX)
		error->message = g_steal_pointer(&before);
	else
		error->message = g_strconcat(before, "\n", line, NULL);
}

gboolean rdmad_config_source_error(GError **error, const char *file, guint line, const char *format,
				   ...)
{
	g_autofree char *text = NULL, *what = NULL, *where = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	/* More people read the log and the event log than the configuration. */
	what = rdmad_redact_userinfo(text);
	where = line > 0 ? g_strdup_printf("%s:%u", file, line) : g_strdup(file);
	if (!error || !*error)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s", where, what);
	else
		error_append(*error, where, what);
	return FALSE;
}

static gboolean source_refuse(GError **error, const char *path, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s", path, why);
	return FALSE;
}

gboolean rdmad_config_path_is_wrong(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EISDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case ENOTDIR:
	case ENXIO:
		return TRUE;
	default:
		return FALSE;
	}
}

static gboolean source_errno(GError **error, const char *path, int errnum)
{
	return rdmad_config_path_is_wrong(errnum) ? source_refuse(error, path, g_strerror(errnum))
						  : rdmad_error_errno(error, errnum, "%s", path);
}

static guint line_of(const char *text, const char *at)
{
	guint line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

gboolean rdmad_config_source_check(const char *name, const char *text, gsize length, GError **error)
{
	const char *bad;

	if (length > RDMAD_CONFIG_FILE_MAX)
		return source_refuse(error, name, "larger than 1 MiB, no configuration is");
	bad = memchr(text, '\0', length);
	if (bad)
		return rdmad_config_source_error(error, name, line_of(text, bad),
						 "holds a NUL byte, this is not a text file");
	if (!g_utf8_validate_len(text, length, &bad))
		return rdmad_config_source_error(error, name, line_of(text, bad),
						 "byte 0x%02x is not UTF-8", (guchar)*bad);
	if (g_str_has_prefix(text, "\xef\xbb\xbf"))
		return rdmad_config_source_error(error, name, 1,
						 "starts with a byte order mark, save it without");
	return TRUE;
}

static gboolean source_missing(GError **error, const char *path)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "%s: no such file", path);
	return FALSE;
}

static gboolean source_is_file(int fd, const char *path, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return source_errno(error, path, errno);
	if (S_ISDIR(st.st_mode))
		return source_refuse(error, path, "is a directory, not a file");
	if (!S_ISREG(st.st_mode))
		return source_refuse(error, path, "is not a regular file");
	return TRUE;
}

char *rdmad_config_source_read(const char *path, gsize *length, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	/* O_NONBLOCK: opening a FIFO must not block the daemon; it is rejected after the open. */
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return source_missing(error, path), NULL;
	if (fd < 0)
		return source_errno(error, path, errno), NULL;
	if (!source_is_file(fd, path, error))
		return NULL;
	if (!rdmad_fd_read_all(fd, RDMAD_CONFIG_FILE_MAX, text))
		return source_errno(error, path, errno), NULL;
	if (!rdmad_config_source_check(path, text->str, text->len, error))
		return NULL;
	*length = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}
