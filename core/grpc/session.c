/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/session.h"

#include <errno.h>
#include <poll.h>
#include <rdmad/fd.h>
#include <sys/socket.h>

#include "grpc/replay.h"
#include "grpc/session-limits.h"

#define READ_SIZE      16384u
#define READS_A_TURN   4      /* so that other events get their turn */
#define OUT_SIZE       32768u /* gathered for one write, approximately */
#define OUT_USUAL      1024u  /* a response with its header and its trailer */
#define LINGER_BYTES   (256u * 1024)
#define OUT_QUEUE_MAX  1000u /* frames queued in nghttp2, on the server side */
#define PREFACE_MS     10000u
#define LINGER_MS      1000u  /* for the peer to read the final frames */
#define SLOW_MS	       10000u /* for the peer to read the last response */
#define STREAM_WINDOW  (256 * 1024)
#define SESSION_WINDOW (1024 * 1024)

struct RdmadGrpcSession {
	int fd;
	gboolean server;
	nghttp2_session *h2;
	const RdmadGrpcSessionOps *ops;
	gpointer data;
	RdmadEvent *io;
	RdmadEvent *turn;    /* timer: writes frames submitted outside of a turn */
	RdmadEvent *preface; /* timer: until the peer's first SETTINGS */
	RdmadEvent *linger;  /* timer: limits the wait for the peer to read the final frames */
	GByteArray *out;     /* bytes that the socket has not accepted yet, or NULL */
	guint out_sent;
	RdmadGrpcSessionLimits limits;
	const char *over;  /* why the connection has ended, or NULL */
	gboolean stopping; /* this side ends it: further input is discarded */
	const char *why;   /* reason for `stopping` */
	gboolean all_sent; /* all output was sent; further input is discarded */
	gsize dropped;
	RdmadGrpcFrames frames; /* position of the input */
	gboolean frozen;
	GByteArray *replay; /* set by rdmad_grpc_session_resume(), until replayed */
	gboolean again;	    /* submitted during a turn */
	gboolean dead;	    /* freed while `busy` */
	guint busy;
};

/* Returns FALSE if events must not be reported to the owner. */
static gboolean session_is_active(const RdmadGrpcSession *s)
{
	return !s->dead && !s->stopping;
}

/* Marks the connection as ended; `why` must outlive the session. */
static void session_end(RdmadGrpcSession *s, const char *why)
{
	if (!s->over)
		s->over = s->why ? s->why : why;
}

/* Sends GOAWAY (ENHANCE_YOUR_CALM), then ends the connection with this reason.  Further input is
 * discarded. */
static void session_terminate(RdmadGrpcSession *s, const char *why)
{
	if (!session_is_active(s))
		return;
	s->stopping = TRUE;
	s->why = why;
	nghttp2_session_terminate_session(s->h2, NGHTTP2_ENHANCE_YOUR_CALM);
	rdmad_grpc_session_wake(s);
}

/* ---- bytes in and out ---- */

static gboolean session_feed(RdmadGrpcSession *s, const guint8 *bytes, gsize size)
{
	const ssize_t n = nghttp2_session_mem_recv(s->h2, bytes, size);

	rdmad_grpc_frames_pass(&s->frames, bytes, size);
	if (n < 0)
		session_end(s, nghttp2_strerror((int)n));
	return n >= 0 && session_is_active(s);
}

static gboolean session_drop(RdmadGrpcSession *s, gsize size)
{
	s->dropped += size;
	if (s->dropped > LINGER_BYTES)
		session_end(s, "the peer does not stop sending");
	return !s->over;
}

static gboolean session_read_once(RdmadGrpcSession *s)
{
	guint8 bytes[READ_SIZE];
	const ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);

	if (n == 0)
		session_end(s, "the peer closed the connection");
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		session_end(s, g_strerror(errno));
	if (n <= 0)
		return FALSE;
	/* nghttp2 must not be fed after it has ended the session itself. */
	if (s->all_sent || s->stopping || !nghttp2_session_want_read(s->h2))
		return session_drop(s, (gsize)n);
	return session_feed(s, bytes, (gsize)n) && n == sizeof(bytes);
}

static gboolean session_is_paused(const RdmadGrpcSession *s)
{
	return s->frozen && rdmad_grpc_frames_whole(&s->frames) &&
	       !(s->ops->partial && s->ops->partial(s->data));
}

/* Reads from the socket and feeds nghttp2. */
static void session_read(RdmadGrpcSession *s)
{
	for (int i = 0; i < READS_A_TURN && !s->over && !s->dead && !session_is_paused(s); i++)
		if (!session_read_once(s))
			return;
}

/* Takes frames from nghttp2 until there is enough for one write. */
static gboolean session_gather(RdmadGrpcSession *s)
{
	const guint8 *bytes;
	ssize_t n = 0;

	if (s->out)
		return TRUE;
	while (!s->dead && (!s->out || s->out->len < OUT_SIZE)) {
		n = nghttp2_session_mem_send(s->h2, &bytes);
		if (n <= 0)
			break;
		if (!s->out)
			s->out = g_byte_array_sized_new(OUT_USUAL);
		g_byte_array_append(s->out, bytes, (guint)n);
	}
	if (n < 0)
		session_end(s, nghttp2_strerror((int)n));
	return s->out != NULL;
}

/* Returns FALSE if the socket accepts no more bytes. */
static gboolean session_send(RdmadGrpcSession *s)
{
	const gsize left = s->out->len - s->out_sent;
	const ssize_t n = send(s->fd, s->out->data + s->out_sent, left, MSG_NOSIGNAL);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			session_end(s, g_strerror(errno));
		return FALSE;
	}
	s->out_sent += (guint)n;
	if ((gsize)n < left)
		return FALSE;
	g_clear_pointer(&s->out, g_byte_array_unref);
	s->out_sent = 0;
	return TRUE;
}

/* Writes nghttp2's output until the socket accepts no more. */
static void session_write(RdmadGrpcSession *s)
{
	s->again = FALSE;
	while (!s->over && session_gather(s) && !s->over && !s->dead && session_send(s))
		;
}

/* ---- callbacks of nghttp2, reported to the owner unless a limit is exceeded ---- */

/* Stops nghttp2 if the session was freed in a callback. */
static int session_result(const RdmadGrpcSession *s)
{
	return s->dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *head, void *data)
{
	RdmadGrpcSession *s = data;

	if (s->server && session_is_active(s) &&
	    !rdmad_grpc_session_limits_received(&s->limits, head))
		session_terminate(s, "a flood of control frames");
	return session_result(s);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_limits_begin(&s->limits);
	if (session_is_active(s))
		s->ops->begin(frame->hd.stream_id, s->data);
	return session_result(s);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *data)
{
	RdmadGrpcSession *s = data;
	const RdmadGrpcField field = { (const char *)name, (const char *)value, name_len,
				       value_len };
	const RdmadGrpcHeadersSize size =
		rdmad_grpc_session_limits_field(&s->limits, name_len, value_len);

	if (!session_is_active(s))
		return session_result(s);
	if (size == RDMAD_GRPC_HEADERS_FIT)
		s->ops->field(frame->hd.stream_id, &field, s->data);
	else if (size == RDMAD_GRPC_HEADERS_FLOOD)
		session_terminate(s, "a flood of headers");
	return session_result(s);
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t size, void *data)
{
	RdmadGrpcSession *s = data;

	if (session_is_active(s))
		s->ops->data(stream, bytes, size, s->data);
	return session_result(s);
}

static void session_received_stream_frame(RdmadGrpcSession *s, const nghttp2_frame *frame)
{
	const int32_t stream = frame->hd.stream_id;

	if (frame->hd.type == NGHTTP2_HEADERS)
		s->ops->headers(stream,
				rdmad_grpc_session_limits_size(&s->limits) !=
					RDMAD_GRPC_HEADERS_FIT,
				s->data);
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && session_is_active(s))
		s->ops->ended(stream, s->data);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;

	if (!session_is_active(s))
		return session_result(s);
	if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
		session_received_stream_frame(s, frame);
	else if (frame->hd.type == NGHTTP2_SETTINGS)
		g_clear_pointer(&s->preface, rdmad_event_free);
	else if (frame->hd.type == NGHTTP2_GOAWAY)
		s->ops->goaway(s->data);
	else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK))
		s->ops->ping_acked(s->data);
	return session_result(s);
}

/* A server that responds before the request is complete needs no more of it (RFC 9113 8.1). */
static void session_ended_early(RdmadGrpcSession *s, const nghttp2_frame *frame)
{
	const int32_t stream = frame->hd.stream_id;

	if (s->server && nghttp2_session_get_stream_remote_close(s->h2, stream) == 0)
		nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
}

static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;
	const gboolean has_content =
		frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

	if (has_content && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		session_ended_early(s, frame);
	if (s->server && session_is_active(s) && !rdmad_grpc_session_limits_sent(&s->limits, frame))
		session_terminate(s, "a flood of wrong streams");
	return session_result(s);
}

static int on_stream_close(nghttp2_session *h2, int32_t stream, uint32_t error_code, void *data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_limits_earn(&s->limits);
	if (!s->dead)
		s->ops->stream_closed(stream, error_code, s->data);
	return session_result(s);
}

/* RFC 9113 5.5: a frame of an unknown type is ignored; on_begin_frame() has counted it. */
static int unpack_unknown(nghttp2_session *h2, void **payload, const nghttp2_frame_hd *head,
			  void *data)
{
	return NGHTTP2_ERR_CANCEL;
}

static nghttp2_session_callbacks *session_callbacks(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) != 0)
		g_error("out of memory");
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_unpack_extension_callback(cb, unpack_unknown);
	return cb;
}

/* ---- a turn of the loop ---- */

static void linger_timeout(gpointer data)
{
	RdmadGrpcSession *s = data;

	session_end(s, "the peer does not read");
	rdmad_grpc_session_wake(s);
}

static gboolean session_reads(const RdmadGrpcSession *s)
{
	return !s->stopping && nghttp2_session_want_read(s->h2);
}

static gboolean session_all_sent(const RdmadGrpcSession *s)
{
	return !session_reads(s) && !s->out && !nghttp2_session_want_write(s->h2);
}

/* Shuts down only the sending side: closing would make the peer's writes fail before it reads
 * the final frames. */
static void session_shut_down(RdmadGrpcSession *s)
{
	s->all_sent = TRUE;
	shutdown(s->fd, SHUT_WR);
	rdmad_event_arm(s->linger, LINGER_MS);
}

/* Chooses the events to wait for, at the end of a turn. */
static void session_update_events(RdmadGrpcSession *s)
{
	if (!s->over && !s->all_sent && session_all_sent(s))
		session_shut_down(s);
	if (s->server && nghttp2_session_get_outbound_queue_size(s->h2) > OUT_QUEUE_MAX)
		session_end(s, "the peer does not read");
	if (s->over)
		return;
	if (!rdmad_event_want(s->io, (session_is_paused(s) ? 0 : RDMAD_IO_READ) |
					     (s->out ? RDMAD_IO_WRITE : 0))) {
		session_end(s, "the peer cannot be waited for");
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
	if (s->replay)
		g_byte_array_unref(s->replay);
	g_free(s);
}

static void session_unlock(RdmadGrpcSession *s)
{
	if (--s->busy == 0 && s->dead)
		session_destroy(s);
}

/* Discards nghttp2's output: the previous process has sent it to the peer. */
static void session_discard(RdmadGrpcSession *s)
{
	const guint8 *bytes;
	ssize_t n = 0;

	while (!s->dead && (n = nghttp2_session_mem_send(s->h2, &bytes)) > 0)
		;
	if (n < 0)
		session_end(s, nghttp2_strerror((int)n));
}

static void session_replay(RdmadGrpcSession *s)
{
	g_autoptr(GByteArray) bytes = g_steal_pointer(&s->replay);

	session_discard(s);
	if (!session_feed(s, bytes->data, bytes->len))
		return;
	s->ops->replaying(s->data);
	session_discard(s);
	if (!s->dead && !s->over)
		s->ops->replayed(s->data);
}

static void session_turn(RdmadGrpcSession *s, RdmadIo ready)
{
	s->busy++;
	if (s->replay)
		session_replay(s);
	if (!s->dead && (ready & RDMAD_IO_READ))
		session_read(s);
	if (!s->dead)
		session_write(s);
	if (!s->dead)
		s->ops->flushed(s->data);
	if (!s->dead)
		session_update_events(s);
	if (!s->dead && s->over)
		s->ops->closed(s->over, s->data);
	session_unlock(s);
}

static void session_ready(int fd, RdmadIo ready, gpointer data)
{
	session_turn(data, ready);
}

static void session_woken(gpointer data)
{
	session_turn(data, 0);
}

static void preface_timeout(gpointer data)
{
	RdmadGrpcSession *s = data;

	session_end(s, "the peer did not begin to speak HTTP/2");
	session_turn(s, 0);
}

/* ---- life cycle ---- */

static void session_make_h2(RdmadGrpcSession *s)
{
	const nghttp2_option *option = rdmad_grpc_session_options();
	nghttp2_session_callbacks *cb = session_callbacks();
	const int rv = s->server ? nghttp2_session_server_new2(&s->h2, cb, s, option)
				 : nghttp2_session_client_new2(&s->h2, cb, s, option);

	if (rv != 0)
		g_error("cannot make an HTTP/2 session: %s", nghttp2_strerror(rv));
	nghttp2_session_callbacks_del(cb);
}

static void session_submit_settings(RdmadGrpcSession *s, guint max_streams)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RDMAD_GRPC_HEADERS_MAX },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams },
		/* A process that resumes the connection does not have the peer's dynamic table. */
		{ NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0 },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	/* Only a client sends ENABLE_PUSH. */
	nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, s->server ? 4 : 5);
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
	rdmad_grpc_frames_init(&s->frames, server);
	session_make_h2(s);
	session_submit_settings(s, max_streams);
	s->io = rdmad_loop_add_io(loop, NULL, fd, RDMAD_IO_READ, session_ready, s, NULL);
	if (!s->io) /* the owner is notified from the loop */
		session_end(s, "the peer cannot be waited for");
	s->turn = rdmad_loop_add_timer(loop, NULL, session_woken, s);
	s->linger = rdmad_loop_add_timer(loop, NULL, linger_timeout, s);
	s->preface = rdmad_loop_add_timer(loop, NULL, preface_timeout, s);
	rdmad_event_arm(s->preface, PREFACE_MS);
	rdmad_event_arm(s->turn, 0);
	return s;
}

RdmadGrpcSession *rdmad_grpc_session_resume(RdmadLoop *loop, int fd, guint max_streams,
					    const RdmadGrpcSessionState *state, const char *path,
					    const RdmadGrpcSessionOps *ops, gpointer data)
{
	RdmadGrpcSession *s = rdmad_grpc_session_new(loop, fd, TRUE, max_streams, ops, data);

	s->replay = rdmad_grpc_replay(state, path);
	return s;
}

void rdmad_grpc_session_freeze(RdmadGrpcSession *s)
{
	s->frozen = TRUE;
	rdmad_grpc_session_wake(s);
}

void rdmad_grpc_session_thaw(RdmadGrpcSession *s)
{
	s->frozen = FALSE;
	rdmad_grpc_session_wake(s);
}

gboolean rdmad_grpc_session_is_silent(const RdmadGrpcSession *s)
{
	return s->preface != NULL;
}

gboolean rdmad_grpc_session_is_still(const RdmadGrpcSession *s)
{
	return !s->over && !s->stopping && !s->all_sent && !s->replay && session_is_paused(s) &&
	       !s->out && !nghttp2_session_want_write(s->h2);
}

/* Gives the whole connection window back to the peer, because this process's count of it is not
 * saved. */
static void session_open_window(RdmadGrpcSession *s)
{
	const gint32 used = nghttp2_session_get_effective_recv_data_length(s->h2);

	if (used > 0)
		nghttp2_submit_window_update(s->h2, NGHTTP2_FLAG_NONE, 0, used);
	rdmad_grpc_session_flush(s);
}

gboolean rdmad_grpc_session_save(RdmadGrpcSession *s, int32_t stream, RdmadGrpcSessionState *state)
{
	if (!rdmad_grpc_session_is_still(s))
		return FALSE;
	session_open_window(s);
	*state = (RdmadGrpcSessionState){
		.stream = stream,
		.initial_window = nghttp2_session_get_remote_settings(
			s->h2, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE),
		.max_frame =
			nghttp2_session_get_remote_settings(s->h2, NGHTTP2_SETTINGS_MAX_FRAME_SIZE),
		.window = nghttp2_session_get_remote_window_size(s->h2),
		.stream_window = nghttp2_session_get_stream_remote_window_size(s->h2, stream),
	};
	/* The setting is effective once the peer has acknowledged it. */
	return rdmad_grpc_session_is_still(s) &&
	       nghttp2_session_get_local_settings(s->h2, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE) == 0;
}

int rdmad_grpc_session_fd(const RdmadGrpcSession *s)
{
	return s->fd;
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
		rdmad_event_arm_for_turn(s->turn);
}

void rdmad_grpc_session_flush(RdmadGrpcSession *s)
{
	if (s->busy || s->dead)
		return;
	s->busy++;
	session_write(s);
	session_unlock(s);
}

gboolean rdmad_grpc_session_hung_up(const RdmadGrpcSession *s)
{
	struct pollfd ask = { .fd = s->fd, .events = POLLRDHUP };

	/* Polls without reading, because a GOAWAY may be unread. */
	return s->over ||
	       (poll(&ask, 1, 0) == 1 && (ask.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}
