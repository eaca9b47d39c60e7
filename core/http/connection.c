/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: reads a request, has it handled, sends the response, and starts again
 *
 * Each state has one deadline, which further bytes do not extend.  A client that shuts down its
 * sending side before it got the response counts as gone.
 */
#define RDMAD_LOG_TOPIC "http"

#include <rdmad/clock.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "http/server.h"

#define LINGER_MAX  (16u << 20)
#define SEND_A_TURN (64u << 10) /* limits the share of the loop's time of one response */

static void connection_step(HttpConnection *c);

void http_connection_arm(HttpConnection *c, guint timeout_ms)
{
	rdmad_event_arm(c->deadline, c->lost ? 0 : timeout_ms);
}

/* If epoll rejects the descriptor, the connection ends on the next turn, because callers still use
 * it. */
static void connection_want(HttpConnection *c, RdmadIo want)
{
	if (rdmad_event_want(c->io, want))
		return;
	c->lost = TRUE;
	http_connection_arm(c, 0);
}

/* Sets the state and the awaited events; `timeout_ms` 0 keeps the deadline. */
static void connection_enter(HttpConnection *c, HttpState state, RdmadIo want, guint timeout_ms)
{
	c->state = state;
	connection_want(c, want);
	if (timeout_ms)
		http_connection_arm(c, timeout_ms);
}

static void connection_await_request(HttpConnection *c)
{
	const guint idle_ms = c->listener->http->limits.idle_ms;

	connection_enter(c, HTTP_READING, RDMAD_IO_READ,
			 c->in->len ? MIN(HTTP_REQUEST_MS, idle_ms) : idle_ms);
}

void http_connection_free(HttpConnection *c)
{
	RdmadHttpRequest *request = g_steal_pointer(&c->request);

	g_queue_unlink(&c->listener->connections, &c->node);
	http_turns_leave(c->listener->http->turns, c);
	http_stats_connections(c->listener);
	rdmad_event_free(c->io);
	rdmad_event_free(c->deadline);
	if (c->checking)
		http_users_forget(c->checking, c);
	c->transport->klass->free(c->transport);
	rdmad_clear_fd(&c->fd);
	if (request && request->gone)
		request->gone(request->gone_data);
	http_request_free(request);
	g_byte_array_unref(c->in);
	http_output_clear(&c->out);
	g_free(c);
}

gboolean http_connection_is_idle(const HttpConnection *c)
{
	return c->state == HTTP_STARTING || c->state == HTTP_READING || c->state == HTTP_LINGERING;
}

gboolean http_connection_is_slow(const HttpConnection *c, gint64 patience_us)
{
	return c->state == HTTP_SENDING && rdmad_now_us() - c->sending_since_us >= patience_us;
}

void http_connection_answer(HttpConnection *c, guint status, const char *content_type, GBytes *body)
{
	RdmadHttpRequest *request = g_steal_pointer(&c->request);
	const HttpAnswer answer = {
		.status = status,
		.content_type = content_type,
		.headers = request && request->headers ? request->headers->str : NULL,
		.web_headers = c->listener->web ? http_web_headers(c->listener->web) : NULL,
		.body_size = g_bytes_get_size(body),
		.close = c->close_after,
		.is_public = c->listener->scope != RDMAD_HTTP_LOCAL,
	};

	c->out.head = http_answer_head(&answer, &c->out.head_size);
	c->out.body = body;
	c->out.body_size = c->head_only ? 0 : answer.body_size;
	http_request_free(request);
	http_turns_leave(c->listener->http->turns, c);
	http_stats_answered(c->listener, status);
	/* Sending sets the awaited events.  Most responses are sent at once, and then the same
	 * events as before are awaited, without a system call. */
	c->state = HTTP_SENDING;
	c->sending_since_us = rdmad_now_us();
	http_connection_arm(c, HTTP_SEND_MS);
	if (!c->stepping)
		connection_step(c);
}

void http_connection_refuse(HttpConnection *c, guint status, const char *text)
{
	char *body = http_answer_error(text);

	c->close_after = TRUE;
	c->linger_after = TRUE;
	http_connection_answer(c, status, "application/json", g_bytes_new_take(body, strlen(body)));
}

static const char *refusal_text(guint status)
{
	switch (status) {
	case 417:
		return "Expect is not supported";
	case 431:
		return "the header is too large";
	case 501:
		return "Transfer-Encoding is not supported";
	case 505:
		return "only HTTP/1.1 is supported";
	default:
		return "this is not a well-formed HTTP/1.1 request";
	}
}

/* Returns TRUE if the head is complete and valid; otherwise more input is awaited, or the request
 * was rejected. */
static gboolean connection_read_head(HttpConnection *c)
{
	const RdmadHttpLimits *limits = &c->listener->http->limits;
	const gssize size = rdmad_http_head_find(c->in->data, c->in->len, &c->scanned);
	guint status;

	if (size < 0) {
		http_connection_refuse(c, 400, refusal_text(400));
		return FALSE;
	}
	if ((size ? (gsize)size : c->in->len) > limits->max_header) {
		http_connection_refuse(c, 431, refusal_text(431));
		return FALSE;
	}
	if (size == 0)
		return FALSE;
	c->request = g_new0(RdmadHttpRequest, 1);
	c->request->connection = c;
	status = rdmad_http_head_parse(&c->request->head, c->in->data, size);
	if (status) {
		http_connection_refuse(c, status, refusal_text(status));
		return FALSE;
	}
	g_byte_array_remove_range(c->in, 0, size);
	c->scanned = 0;
	c->head_only = g_str_equal(c->request->head.method, "HEAD");
	c->close_after = !c->request->head.keep_alive;
	return TRUE;
}

/* Public requests have no body, so that untrusted clients cannot fill the memory. */
static gsize connection_max_body(const HttpConnection *c)
{
	return c->listener->scope == RDMAD_HTTP_LOCAL ? c->listener->http->limits.max_body : 0;
}

/* Returns TRUE if the body is complete. */
static gboolean connection_read_body(HttpConnection *c)
{
	RdmadHttpRequest *request = c->request;

	if (request->head.content_length > connection_max_body(c)) {
		http_connection_refuse(c, 413, "the body is too large");
		return FALSE;
	}
	if (c->in->len < request->head.content_length)
		return FALSE;
	request->body_size = request->head.content_length;
	request->body = g_memdup2(c->in->data, request->body_size);
	g_byte_array_remove_range(c->in, 0, request->body_size);
	return TRUE;
}

void http_connection_handle(HttpConnection *c)
{
	connection_enter(c, HTTP_HANDLING, RDMAD_IO_READ, HTTP_ANSWER_MS);
	http_dispatch(c->request);
}

static void connection_step_reading(HttpConnection *c)
{
	if (!c->request && !connection_read_head(c))
		return;
	if (!c->admitted && !http_connection_admit(c))
		return;
	if (!connection_read_body(c))
		return;
	if (c->listener->scope == RDMAD_HTTP_LOCAL) {
		http_connection_handle(c);
		return;
	}
	connection_enter(c, HTTP_WAITING, RDMAD_IO_READ, HTTP_WAIT_MS);
	http_turns_wait(c->listener->http->turns, c);
}

/* Closing at once would reset the connection, and the client might not read the error response.
 * Further input is discarded. */
static void connection_linger(HttpConnection *c)
{
	c->transport->klass->finish(c->transport);
	c->transport->klass->free(c->transport);
	c->transport = http_transport_plain(c->fd);
	connection_enter(c, HTTP_LINGERING, RDMAD_IO_READ, HTTP_LINGER_MS);
}

static void connection_finish(HttpConnection *c)
{
	http_output_clear(&c->out);
	if (c->linger_after) {
		connection_linger(c);
		return;
	}
	c->head_only = FALSE;
	c->admitted = FALSE;
	if (c->in->len == 0) { /* an idle connection has no buffer */
		g_byte_array_unref(c->in);
		c->in = g_byte_array_new();
	}
	connection_await_request(c);
	/* Handles one request per turn: pipelined requests wait for the writable event of the next
	 * turn, and nothing more is read before. */
	if (c->in->len)
		connection_want(c, RDMAD_IO_WRITE);
}

/* Waits for the event that the transport needs.  May free `c`. */
static void connection_wait(HttpConnection *c, gssize wait)
{
	if (wait == HTTP_BROKEN)
		http_connection_free(c);
	else
		connection_want(c, wait == HTTP_WAIT_READ ? RDMAD_IO_READ : RDMAD_IO_WRITE);
}

/* May free `c`. */
static void connection_step_sending(HttpConnection *c)
{
	const gsize end = c->out.sent + SEND_A_TURN;
	struct iovec parts[2];
	guint n_parts;

	while ((n_parts = http_output_rest(&c->out, end - c->out.sent, parts))) {
		const gssize n = c->transport->klass->send(c->transport, parts, n_parts);

		if (n < 0) {
			connection_wait(c, n);
			return;
		}
		c->out.sent += n;
	}
	if (http_output_rest(&c->out, 1, parts)) {
		connection_want(c, RDMAD_IO_WRITE);
		return;
	}
	if (c->close_after && !c->linger_after) {
		c->transport->klass->finish(c->transport);
		http_connection_free(c);
		return;
	}
	connection_finish(c);
}

/* Proceeds without waiting, by at most one request.  May free `c`. */
static void connection_step(HttpConnection *c)
{
	c->stepping = TRUE;
	if (c->state == HTTP_READING)
		connection_step_reading(c);
	c->stepping = FALSE;
	if (c->state == HTTP_SENDING)
		connection_step_sending(c);
}

void http_connection_resume(HttpConnection *c)
{
	connection_enter(c, HTTP_READING, RDMAD_IO_READ, HTTP_REQUEST_MS);
	if (!c->stepping)
		connection_step(c);
}

static void connection_drain(HttpConnection *c, gsize n)
{
	g_byte_array_set_size(c->in, 0);
	c->drained += n;
	if (c->drained > LINGER_MAX)
		http_connection_free(c);
}

static void connection_received(HttpConnection *c, const guint8 *data, gsize n)
{
	const gboolean first = c->in->len == 0;

	if (c->state == HTTP_LINGERING) {
		connection_drain(c, n);
		return;
	}
	g_byte_array_append(c->in, data, n);
	if (c->state == HTTP_READING) {
		if (first && !c->request)
			connection_await_request(c);
		connection_step(c);
	} else if (c->in->len > c->listener->http->limits.max_header) {
		/* Enough pipelined input is buffered; the rest stays in the socket. */
		connection_want(c, 0);
	}
}

/* A plain HTTP request to a TLS listener gets a plain HTTP error. */
static gboolean connection_is_plain(HttpConnection *c)
{
	char first;

	if (recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 || !g_ascii_isupper(first))
		return FALSE;
	c->transport->klass->free(c->transport);
	c->transport = http_transport_plain(c->fd);
	http_connection_refuse(c, 400, "this is an HTTPS server, and the request was plain HTTP");
	return TRUE;
}

/* A handshake step may take milliseconds, so each turn of the loop has only one; the other
 * connections stay ready. */
static void connection_start(HttpConnection *c)
{
	HttpListener *listener = c->listener;
	int wait;

	if (listener->started)
		return;
	listener->started = TRUE;
	rdmad_event_arm(listener->next_turn, 0);
	if (!c->greeted && connection_is_plain(c))
		return;
	c->greeted = TRUE;
	wait = c->transport->klass->start(c->transport);
	if (wait == 0)
		connection_await_request(c);
	else if (wait == HTTP_BROKEN)
		connection_linger(c); /* so that the client can read the alert */
	else
		connection_wait(c, wait);
}

static void connection_ready(int fd, RdmadIo ready, gpointer data)
{
	HttpConnection *c = data;
	guint8 buffer[HTTP_READ_SIZE];
	gssize n;

	if (c->state == HTTP_STARTING) {
		connection_start(c);
		return;
	}
	if (c->state == HTTP_SENDING) {
		connection_step(c);
		return;
	}
	/* A client that has shut down its sending side while waiting is still answered.  Most send
	 * nothing, so that this costs no system call. */
	if (c->state == HTTP_WAITING) {
		connection_want(c, 0);
		return;
	}
	if (ready & RDMAD_IO_WRITE) { /* a buffered request */
		connection_want(c, RDMAD_IO_READ);
		connection_step(c);
		return;
	}
	n = c->transport->klass->recv(c->transport, buffer, sizeof(buffer));
	if (n < 0)
		connection_wait(c, n);
	else if (n == 0)
		http_connection_free(c);
	else
		connection_received(c, buffer, n);
}

static void connection_expired(gpointer data)
{
	HttpConnection *c = data;

	if (c->lost) {
		rdmad_warn("%s: closed a connection that epoll rejects", c->listener->name);
		http_connection_free(c);
		return;
	}
	if (c->state == HTTP_READING && (c->in->len || c->request)) {
		http_connection_refuse(c, 408, "the request took too long to arrive");
		return;
	}
	if (c->state == HTTP_WAITING) {
		http_connection_refuse(c, 503, "too many answers come before this one");
		return;
	}
	if (c->state == HTTP_CHECKING) {
		http_users_forget(g_steal_pointer(&c->checking), c);
		http_connection_refuse(c, 503, "the password could not be checked in time");
		return;
	}
	if (c->state == HTTP_HANDLING)
		rdmad_warn("no answer to %s %s in %u s", c->request->head.method,
			   c->request->head.path, HTTP_ANSWER_MS / 1000);
	http_connection_free(c);
}

static HttpTransport *listener_transport(HttpListener *listener, int fd)
{
	return listener->web ? http_web_transport(listener->web, fd) : http_transport_plain(fd);
}

/* Kubelet and the control socket have priority over clients of TCP listeners. */
static void connection_add_events(HttpConnection *c, RdmadLoop *loop)
{
	/* Watches no event yet, so this cannot fail. */
	c->io = rdmad_loop_add_io(loop, NULL, c->fd, 0, connection_ready, c, NULL);
	c->deadline = rdmad_loop_add_timer(loop, NULL, connection_expired, c);
	if (c->listener->scope == RDMAD_HTTP_LOCAL)
		return;
	rdmad_event_set_low(c->io);
	rdmad_event_set_low(c->deadline);
}

void http_connection_new(HttpListener *listener, int fd, const HttpPeer *peer)
{
	HttpConnection *c = g_new0(HttpConnection, 1);

	c->listener = listener;
	c->fd = fd;
	c->transport = listener_transport(listener, fd);
	c->is_local = peer && http_socket_is_local(fd);
	if (peer)
		c->peer = *peer;
	c->in = g_byte_array_new();
	c->node.data = c;
	g_queue_push_tail_link(&listener->connections, &c->node);
	http_stats_connections(listener);
	connection_add_events(c, listener->http->loop);
	if (c->transport->klass->start)
		connection_enter(c, HTTP_STARTING, RDMAD_IO_READ, HTTP_START_MS);
	else
		connection_await_request(c);
}
