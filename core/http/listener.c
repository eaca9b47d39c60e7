/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of connections: checks the client, and limits their number */
#define RDMAD_LOG_TOPIC "http"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "http/server.h"

#define ACCEPTS_A_TURN 16
#define RETRY_MS       1000u
#define PLACE_US       (2 * G_USEC_PER_SEC) /* who has not read for so long may lose its place */
#define BUSY_ANSWER                                                                                \
	"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"                   \
	"Content-Length: 33\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{\"error\":\"too many "  \
	"connections\"}\n"

static gboolean peer_is_allowed(int fd)
{
	uid_t uid = (uid_t)-1;

	if (rdmad_unix_peer_trusted(fd, &uid))
		return TRUE;
	rdmad_notice("control socket: refused uid %u", uid);
	return FALSE;
}

/* Closes the connection that has been idle longest, of `peer` or of any peer (NULL). */
static gboolean listener_close_idle(HttpListener *listener, const HttpPeer *peer)
{
	for (GList *l = listener->connections.head; l; l = l->next) {
		HttpConnection *c = l->data;

		if (!http_connection_is_idle(c) || (peer && !http_peer_equal(&c->peer, peer)))
			continue;
		http_connection_free(c);
		return TRUE;
	}
	return FALSE;
}

static guint listener_count_peer(const HttpListener *listener, const HttpPeer *peer)
{
	guint n = 0;

	for (const GList *l = listener->connections.head; l; l = l->next)
		n += http_peer_equal(&((const HttpConnection *)l->data)->peer, peer);
	return n;
}

gsize http_listener_unsent(const HttpListener *listener)
{
	gsize size = 0;

	if (listener->scope == RDMAD_HTTP_LOCAL)
		return 0;
	for (const GList *l = listener->connections.head; l; l = l->next)
		size += http_output_unsent(&((const HttpConnection *)l->data)->out);
	return size;
}

/* Closes the oldest one, of the address that has the most connections. */
gboolean http_listener_close_slow(HttpListener *listener, gint64 patience_us)
{
	HttpConnection *slow = NULL;
	guint most = 0;

	if (listener->scope == RDMAD_HTTP_LOCAL)
		return FALSE;
	for (GList *l = listener->connections.head; l; l = l->next) {
		HttpConnection *c = l->data;
		const guint n = http_connection_is_slow(c, patience_us)
					? listener_count_peer(listener, &c->peer)
					: 0;

		if (n > most) {
			most = n;
			slow = c;
		}
	}
	if (slow)
		http_connection_free(slow);
	return slow != NULL;
}

/* One address may have a quarter of a public listener's connections.  At either limit, an idle
 * connection is closed.  Otherwise four addresses could keep out kubelet's probes: a client that
 * does not read makes room for another address. */
static gboolean listener_make_room(HttpListener *listener, const HttpPeer *peer)
{
	const guint max = listener->http->places;

	if (peer && listener_count_peer(listener, peer) >= MAX(max / 4, 1))
		return listener_close_idle(listener, peer);
	return listener->connections.length < max || listener_close_idle(listener, NULL) ||
	       http_listener_close_slow(listener, PLACE_US);
}

/* Sends no response on a TLS listener: its client could not read plain text. */
static void listener_reject(HttpListener *listener, int fd)
{
	rdmad_notice("%s: %u connections are at work, one more was refused", listener->name,
		     listener->connections.length);
	http_stats_answered(listener, 503);
	if (!listener->web || !http_web_has_tls(listener->web))
		(void)!send(fd, BUSY_ANSWER, strlen(BUSY_ANSWER), MSG_NOSIGNAL);
	close(fd);
}

static void listener_admit(HttpListener *listener, int fd, const struct sockaddr_storage *address)
{
	const gboolean is_public = listener->scope != RDMAD_HTTP_LOCAL;
	const int on = 1;
	HttpPeer peer;

	if (!is_public && !peer_is_allowed(fd)) {
		close(fd);
		return;
	}
	if (is_public) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		http_peer_set(&peer, address);
	}
	if (listener->web)
		http_web_refresh(listener->web);
	if (listener_make_room(listener, is_public ? &peer : NULL))
		http_connection_new(listener, fd, is_public ? &peer : NULL);
	else
		listener_reject(listener, fd);
}

static void listener_ready(int listen_fd, RdmadIo ready, gpointer data)
{
	HttpListener *listener = data;

	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t size = sizeof(peer);
		const int fd = accept4(listen_fd, (struct sockaddr *)&peer, &size,
				       SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			listener_admit(listener, fd, &peer);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		/* No descriptors or memory: the socket stays readable, so it is ignored for a
		 * while. */
		rdmad_warn("%s: cannot accept: %s", listener->name, g_strerror(errno));
		rdmad_event_want(listener->io, 0);
		rdmad_event_arm(listener->retry, RETRY_MS);
		return;
	}
}

static void listener_retry(gpointer data)
{
	HttpListener *listener = data;

	if (!rdmad_event_want(listener->io, RDMAD_IO_READ))
		rdmad_event_arm(listener->retry, RETRY_MS);
}

static void listener_next_turn(gpointer data)
{
	HttpListener *listener = data;

	listener->started = FALSE;
}

guint http_listener_parked(const HttpListener *listener)
{
	guint n = 0;

	for (const GList *l = listener->connections.head; l; l = l->next) {
		const HttpConnection *c = l->data;

		n += c->request && c->request->parked;
	}
	return n;
}

HttpListener *http_listener_new(RdmadHttp *http, RdmadModule *owner, const char *name,
				RdmadHttpScope scope, int fd, GError **error)
{
	HttpListener *listener = g_new0(HttpListener, 1);

	listener->http = http;
	listener->owner = owner;
	listener->name = g_strdup(name);
	listener->scope = scope;
	listener->fd = fd;
	g_queue_init(&listener->connections);
	listener->retry = rdmad_loop_add_timer(http->loop, NULL, listener_retry, listener);
	listener->next_turn = rdmad_loop_add_timer(http->loop, NULL, listener_next_turn, listener);
	listener->io = rdmad_loop_add_io(http->loop, NULL, fd, RDMAD_IO_READ, listener_ready,
					 listener, error);
	if (!listener->io)
		g_clear_pointer(&listener, http_listener_free);
	else if (scope != RDMAD_HTTP_LOCAL)
		rdmad_event_set_low(listener->io);
	return listener;
}

void http_listener_free(HttpListener *listener)
{
	while (listener->connections.head)
		http_connection_free(listener->connections.head->data);
	http_stats_listener_removed(listener);
	rdmad_event_free(listener->io);
	rdmad_event_free(listener->retry);
	rdmad_event_free(listener->next_turn);
	http_web_close(listener->web);
	rdmad_clear_fd(&listener->fd);
	rdmad_unix_file_clear(&listener->file);
	g_free(listener->name);
	g_free(listener);
}
