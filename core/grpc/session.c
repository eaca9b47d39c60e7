/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/session.h"

#include <poll.h>
#include <rdmad/fd.h>
#include <sys/socket.h>

#include "grpc/session-private.h"

#define OUT_QUEUE_MAX  1000u /* frames waiting in nghttp2, server side */
#define PREFACE_MS     10000u
#define LINGER_MS      1000u  /* for last words to be read */
#define SLOW_MS	       10000u /* for the last answer to be read */
#define STREAM_WINDOW  (256 * 1024)
#define SESSION_WINDOW (1024 * 1024)

gboolean rdmad_grpc_session_listens(const RdmadGrpcSession *s)
{
	return !s->dead && !s->stopping;
}

void rdmad_grpc_session_end(RdmadGrpcSession *s, const char *why)
{
	if (!s->over)
		s->over = s->why ? s->why : why;
}

static void linger_over(gpointer data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_end(s, "the peer does not read");
	rdmad_grpc_session_wake(s);
}

static gboolean session_reads(const RdmadGrpcSession *s)
{
	return !s->stopping && nghttp2_session_want_read(s->h2);
}

static gboolean session_all_said(const RdmadGrpcSession *s)
{
	return !session_reads(s) && !s->out && !nghttp2_session_want_write(s->h2);
}

/* Closing at once would fail the peer's writes, and it would not read what is on its way to it. */
static void session_say_goodbye(RdmadGrpcSession *s)
{
	s->said = TRUE;
	shutdown(s->fd, SHUT_WR);
	rdmad_event_arm(s->linger, LINGER_MS);
}

/* At the end of a turn: what is there to wait for? */
static void session_judge(RdmadGrpcSession *s)
{
	if (!s->over && !s->said && session_all_said(s))
		session_say_goodbye(s);
	if (s->server && nghttp2_session_get_outbound_queue_size(s->h2) > OUT_QUEUE_MAX)
		rdmad_grpc_session_end(s, "the peer does not read");
	if (s->over)
		return;
	if (!rdmad_event_want(s->io, RDMAD_IO_READ | (s->out ? RDMAD_IO_WRITE : 0))) {
		rdmad_grpc_session_end(s, "the peer cannot be waited for");
		return;
	}
	if (!session_reads(s) && !rdmad_event_armed(s->linger))
		rdmad_event_arm(s->linger, s->stopping ? LINGER_MS : SLOW_MS);
	if (s->again)
		rdmad_event_arm(s->turn, 0);
}

static void session_destroy(RdmadGrpcSession *s)
{
	nghttp2_session_del(s->h2);
	if (s->out)
		g_byte_array_unref(s->out);
	g_free(s);
}

static void session_leave(RdmadGrpcSession *s)
{
	if (--s->busy == 0 && s->dead)
		session_destroy(s);
}

static void session_turn(RdmadGrpcSession *s, RdmadIo ready)
{
	s->busy++;
	if (ready & RDMAD_IO_READ)
		rdmad_grpc_session_read(s);
	if (!s->dead)
		rdmad_grpc_session_write(s);
	if (!s->dead)
		s->ops->flushed(s->data);
	if (!s->dead)
		session_judge(s);
	if (!s->dead && s->over)
		s->ops->closed(s->over, s->data);
	session_leave(s);
}

static void session_ready(int fd, RdmadIo ready, gpointer data)
{
	session_turn(data, ready);
}

static void session_woken(gpointer data)
{
	session_turn(data, 0);
}

static void preface_late(gpointer data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_end(s, "the peer did not begin to speak HTTP/2");
	session_turn(s, 0);
}

/* ---- the life of a session ---- */

static void session_make_h2(RdmadGrpcSession *s)
{
	nghttp2_option *option = rdmad_grpc_session_options();
	nghttp2_session_callbacks *cb = rdmad_grpc_session_callbacks();
	const int rv = s->server ? nghttp2_session_server_new2(&s->h2, cb, s, option)
				 : nghttp2_session_client_new2(&s->h2, cb, s, option);

	if (rv != 0)
		g_error("cannot make an HTTP/2 session: %s", nghttp2_strerror(rv));
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(option);
}

static void session_submit_settings(RdmadGrpcSession *s, guint max_streams)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RDMAD_GRPC_HEADERS_MAX },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	/* A server has no push to disable. */
	nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, s->server ? 3 : 4);
	nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0, SESSION_WINDOW);
}

RdmadGrpcSession *rdmad_grpc_session_new(RdmadLoop *loop, int fd, gboolean server,
					 guint max_streams, const RdmadGrpcSessionOps *ops,
					 gpointer data)
{
	RdmadGrpcSession *s = g_new0(RdmadGrpcSession, 1);

	s->fd = fd;
	s->server = server;
	s->ops = ops;
	s->data = data;
	rdmad_grpc_session_limits_init(&s->limits);
	session_make_h2(s);
	session_submit_settings(s, max_streams);
	s->io = rdmad_loop_add_io(loop, NULL, fd, RDMAD_IO_READ, session_ready, s, NULL);
	if (!s->io) /* its owner hears of it from the loop */
		rdmad_grpc_session_end(s, "the peer cannot be waited for");
	s->turn = rdmad_loop_add_timer(loop, NULL, session_woken, s);
	s->linger = rdmad_loop_add_timer(loop, NULL, linger_over, s);
	s->preface = rdmad_loop_add_timer(loop, NULL, preface_late, s);
	rdmad_event_arm(s->preface, PREFACE_MS);
	rdmad_event_arm(s->turn, 0);
	return s;
}

void rdmad_grpc_session_free(RdmadGrpcSession *s)
{
	if (!s || s->dead)
		return;
	s->dead = TRUE;
	g_clear_pointer(&s->io, rdmad_event_free);
	g_clear_pointer(&s->turn, rdmad_event_free);
	g_clear_pointer(&s->linger, rdmad_event_free);
	g_clear_pointer(&s->preface, rdmad_event_free);
	rdmad_clear_fd(&s->fd);
	if (!s->busy)
		session_destroy(s);
}

nghttp2_session *rdmad_grpc_session_h2(RdmadGrpcSession *s)
{
	return s->h2;
}

void rdmad_grpc_session_wake(RdmadGrpcSession *s)
{
	if (s->dead)
		return;
	if (s->busy)
		s->again = TRUE;
	else
		rdmad_event_arm(s->turn, 0);
}

void rdmad_grpc_session_flush(RdmadGrpcSession *s)
{
	if (s->busy || s->dead)
		return;
	s->busy++;
	rdmad_grpc_session_write(s);
	session_leave(s);
}

void rdmad_grpc_session_terminate(RdmadGrpcSession *s, const char *why)
{
	if (!rdmad_grpc_session_listens(s))
		return;
	s->stopping = TRUE;
	s->why = why;
	nghttp2_session_terminate_session(s->h2, NGHTTP2_ENHANCE_YOUR_CALM);
	rdmad_grpc_session_wake(s);
}

gboolean rdmad_grpc_session_hung_up(const RdmadGrpcSession *s)
{
	struct pollfd ask = { .fd = s->fd, .events = POLLRDHUP };

	/* Not by reading: a GOAWAY may still be there. */
	return s->over ||
	       (poll(&ask, 1, 0) == 1 && (ask.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}
