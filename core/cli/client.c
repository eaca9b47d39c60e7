/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"

#include <errno.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trusted-file.h"
#include "base/unix-socket.h"

static gboolean client_error(GError **error, const char *text)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "answer of rdmad: %s", text);
	return FALSE;
}

static gboolean connect_error(GError **error, int errnum, const char *path)
{
	if (errnum == ENOENT)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "rdmad is not running: no socket at %s; start it, or name its socket "
			    "with --socket",
			    path);
	else if (errnum == ECONNREFUSED)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "rdmad is not running: no server listens at %s; start it", path);
	else if (errnum == EACCES)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s is for root and rdmad's own user: try with sudo", path);
	else
		rdmad_error_errno(error, errnum, "cannot connect to %s", path);
	return FALSE;
}

/* Returns whether the socket is in a directory of the user that only root, or this user, can have
 * put there: /run/rdmad of a daemon that is not root.  Anyone can make such a directory in /tmp. */
static gboolean client_expects(const char *path, uid_t user)
{
	g_autofree char *directory = g_path_get_dirname(path);
	g_autofree char *parent = g_path_get_dirname(directory);
	g_autofree char *name = g_path_get_basename(directory);
	rdmad_autofd int fd =
		g_path_is_absolute(path) ? rdmad_trusted_directory_open(parent, NULL) : -1;
	struct stat st;

	return fd >= 0 && fstatat(fd, name, &st, 0) == 0 && st.st_uid == user;
}

static gboolean client_trusts(int fd, const char *path, GError **error)
{
	struct ucred peer = { .uid = -1 };
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return rdmad_error_errno(error, errno, "cannot identify the server at %s", path);
	if (peer.uid == 0 || peer.uid == geteuid() || client_expects(path, peer.uid))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "the server at %s belongs to user %u, neither root nor user %u, and others may "
		    "have made its directory",
		    path, peer.uid, geteuid());
	return FALSE;
}

static int client_connect(const char *path, guint timeout_s, GError **error)
{
	const struct timeval timeout = { .tv_sec = timeout_s };
	rdmad_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int errnum;

	if (fd < 0) {
		connect_error(error, errno, path);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	errnum = rdmad_unix_connect_fd(fd, path);
	if (errnum) {
		connect_error(error, errnum, path);
		return -1;
	}
	return client_trusts(fd, path, error) ? rdmad_steal_fd(&fd) : -1;
}

static gboolean client_send(int fd, const char *method, const char *path, const char *body,
			    GError **error)
{
	g_autofree char *text = g_strdup_printf("%s %s HTTP/1.1\r\nHost: rdmad\r\n"
						"Connection: close\r\n"
						"Content-Length: %" G_GSIZE_FORMAT "\r\n\r\n%s",
						method, path, strlen(body), body);

	for (gsize sent = 0, size = strlen(text); sent < size;) {
		const gssize n = send(fd, text + sent, size - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rdmad_error_errno(error, errno, "cannot ask rdmad");
		sent += n;
	}
	return TRUE;
}

static GByteArray *no_answer(GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "rdmad has ended or closed the connection");
	return NULL;
}

static GByteArray *client_receive(int fd, GError **error)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	guint8 buffer[16384];

	while (all->len <= RDMAD_CLIENT_MAX) {
		const gssize n = recv(fd, buffer, sizeof(buffer), 0);

		/* A server that rejects a connection closes it without reading the request. */
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return all->len ? g_steal_pointer(&all) : no_answer(error);
		if (n > 0)
			g_byte_array_append(all, buffer, n);
		else if (errno == EAGAIN)
			return client_error(error, "it did not come in time"), NULL;
		else if (errno != EINTR)
			return rdmad_error_errno(error, errno, "cannot read from rdmad"), NULL;
	}
	return client_error(error, "more than 64 MiB"), NULL;
}

json_t *rdmad_client_parse(const char *answer, gsize size, json_t **refusal, GError **error)
{
	const char *body = g_strstr_len(answer, size, "\r\n\r\n");
	json_error_t where;
	json_t *value;
	guint64 status;

	if (!body || size < 12 || strncmp(answer, "HTTP/1.1 ", 9) != 0)
		return client_error(error, "not HTTP/1.1"), NULL;
	status = strtoul(answer + 9, NULL, 10);
	body += 4;
	value = json_loadb(body, size - (body - answer), 0, &where);
	if (!value)
		return client_error(error, where.text), NULL;
	if (status != 200) {
		const char *text = json_string_value(json_object_get(value, "error"));

		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s",
			    text ?: "refused without a reason");
		if (status == 409 && refusal)
			*refusal = json_incref(value);
		json_decref(value);
		return NULL;
	}
	return value;
}

static GByteArray *client_ask(const char *socket_path, const char *method, const char *path,
			      const char *body, guint timeout_s, GError **error)
{
	rdmad_autofd int fd = client_connect(socket_path, timeout_s, error);

	return fd >= 0 && client_send(fd, method, path, body ?: "", error)
		       ? client_receive(fd, error)
		       : NULL;
}

char *rdmad_client_text(const char *socket_path, const char *path, guint timeout_s, GError **error)
{
	g_autoptr(GByteArray) answer = client_ask(socket_path, "GET", path, NULL, timeout_s, error);
	const char *text = answer ? (const char *)answer->data : NULL;
	const char *body = text ? g_strstr_len(text, answer->len, "\r\n\r\n") : NULL;

	if (!answer)
		return NULL;
	if (!body || strncmp(text, "HTTP/1.1 200", 12) != 0)
		return client_error(error, "refused, or not HTTP/1.1"), NULL;
	return g_strndup(body + 4, answer->len - (gsize)(body + 4 - text));
}

json_t *rdmad_client_call(const char *socket_path, const char *method, const char *path,
			  const char *body, guint timeout_s, json_t **refusal, GError **error)
{
	g_autoptr(GByteArray) answer =
		client_ask(socket_path, method, path, body, timeout_s, error);

	if (!answer)
		return NULL;
	return rdmad_client_parse((const char *)answer->data, answer->len, refusal, error);
}
