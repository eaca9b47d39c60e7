/* SPDX-License-Identifier: Apache-2.0 */
/* Takes connections in: who may, and how many. */
#define RDMAD_LOG_TOPIC "http"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "http/http-server.h"

#define ACCEPTS_A_TURN 16
#define RETRY_MS       1000u
#define BUSY_ANSWER                                                                                \
	"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"                   \
	"Content-Length: 33\r\nConnection: close\r\n\r\n{\"error\":\"too many connections\"}\n"

static gboolean peer_is_allowed(int fd)
{
	uid_t uid = (uid_t)-1;

	if (rdmad_unix_peer_trusted(fd, &uid))
		return TRUE;
	rdmad_notice("control socket: refused uid %u", uid);
	return FALSE;
}

/* When all places are taken, the one that has waited longest for its client goes. */
static gboolean listener_make_room(HttpListener *listener)
{
	if (listener->connections.length < listener->http->limits.max_connections)
		return TRUE;
	for (GList *l = listener->connections.head; l; l = l->next) {
		if (!http_connection_is_idle(l->data))
			continue;
		http_connection_free(l->data);
		return TRUE;
	}
	return FALSE;
}

static void listener_admit(HttpListener *listener, int fd)
{
	const int on = 1;

	if (listener->scope == RDMAD_HTTP_LOCAL) {
		if (!peer_is_allowed(fd)) {
			close(fd);
			return;
		}
	} else {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	if (!listener_make_room(listener)) {
		rdmad_notice("%s: %u connections are at work, one more was refused", listener->name,
			     listener->connections.length);
		http_meters_answered(listener, 503);
		(void)!send(fd, BUSY_ANSWER, strlen(BUSY_ANSWER), MSG_NOSIGNAL);
		close(fd);
		return;
	}
	http_connection_new(listener, fd);
}

static void listener_ready(int listen_fd, RdmadIo ready, gpointer data)
{
	HttpListener *listener = data;

	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		const int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			listener_admit(listener, fd);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		/* No descriptors or memory: the socket stays readable, so look away for a while. */
		rdmad_warn("%s: cannot accept: %s", listener->name, g_strerror(errno));
		rdmad_event_want(listener->io, 0);
		rdmad_event_arm(listener->retry, RETRY_MS);
		return;
	}
}

static void listener_retry(gpointer data)
{
	HttpListener *listener = data;

	rdmad_event_want(listener->io, RDMAD_IO_READ);
}

HttpListener *http_listener_new(RdmadHttp *http, RdmadModule *owner, const char *name,
				RdmadHttpScope scope, int fd)
{
	HttpListener *listener = g_new0(HttpListener, 1);

	listener->http = http;
	listener->owner = owner;
	listener->name = g_strdup(name);
	listener->scope = scope;
	listener->fd = fd;
	g_queue_init(&listener->connections);
	listener->io =
		rdmad_loop_add_io(http->loop, NULL, fd, RDMAD_IO_READ, listener_ready, listener);
	listener->retry = rdmad_loop_add_timer(http->loop, NULL, listener_retry, listener);
	return listener;
}

void http_listener_free(HttpListener *listener)
{
	while (listener->connections.head)
		http_connection_free(listener->connections.head->data);
	http_meters_listener_gone(listener);
	rdmad_event_free(listener->io);
	rdmad_event_free(listener->retry);
	rdmad_clear_fd(&listener->fd);
	rdmad_unix_file_clear(&listener->file);
	g_free(listener->name);
	g_free(listener);
}
