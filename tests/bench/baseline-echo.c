/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline-echo SOCKET REPLY-FILE [STATE-DIR RUN-DIR]
 *
 * The least that a gRPC server can do: bare nghttp2 on one connection at a time, which answers any
 * request with the bytes of a file.  No limits, no checks, no loop: the baseline for comparisons.
 * With directories, the least that Allocate can do: a row is in rdmad's database in STATE-DIR, by
 * its own statement, and a directory with two files has its name in RUN-DIR before the answer
 * leaves; the text of one of them, a line of a log and the next directory follow it.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <rdmad/allocations.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "service/state.h"
#include "spare-directory.h"

#define LINE_SIZE 250 /* of the log, for one allocation */

typedef struct {
	int fd;
	guint8 *framed; /* 5 bytes of gRPC framing and the message */
	gsize size;
	gsize sent;	   /* of the stream under way: the client calls one after the other */
	GString *out;	   /* frames of one turn go out together */
	RdmadState *state; /* or NULL */
	gint64 n;	   /* rows that were written */
	int log;
	gboolean taken;
	SpareDirectories spares;
} Baseline;

#define HEADER(name, value)                                                                        \
	{                                                                                          \
		(guint8 *)(name), (guint8 *)(value), sizeof(name) - 1, sizeof(value) - 1, 0        \
	}

static void baseline_open(Baseline *f, const char *state_dir, const char *run_dir)
{
	g_autofree char *path = g_build_filename(state_dir, "log", NULL);
	g_autoptr(GError) error = NULL;

	f->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	f->state = rdmad_state_open(state_dir, NULL, &error);
	if (!f->state || f->log < 0)
		g_error("%s: %s", path, error ? error->message : g_strerror(errno));
	spare_directories_init(&f->spares, run_dir);
	spare_directory_make(&f->spares);
}

static void baseline_allocate(Baseline *f)
{
	char *const slots[] = { (char *)"0000:1a:00.0::007", NULL };
	const RdmadAllocation row = {
		.number = ++f->n,
		.id = (char *)"0123456789abcdef",
		.resource = (char *)"rdma/hca",
		.owner = (char *)"device-plugin",
		.since_us = f->n,
		.mode = (char *)"shared",
		.boot = (char *)"00000000-0000-0000-0000-000000000000",
		.slots = (char **)slots,
		.devices = (char **)slots,
	};
	g_autoptr(GError) error = NULL;

	if (!rdmad_state_begin_single(f->state, &error) ||
	    !rdmad_state_add_allocation(f->state, &row, &error) ||
	    !rdmad_state_commit(f->state, &error))
		g_error("%s", error->message);
	spare_directory_take(&f->spares);
	f->taken = TRUE;
}

static void baseline_after(Baseline *f)
{
	static const char line[LINE_SIZE];

	if (!f->taken)
		return;
	f->taken = FALSE;
	spare_directory_fill(&f->spares);
	if (write(f->log, line, LINE_SIZE) != LINE_SIZE)
		g_error("log: %s", g_strerror(errno));
	spare_directory_make(&f->spares);
}

static ssize_t baseline_send(nghttp2_session *session, const uint8_t *data, size_t size, int flags,
			     void *user)
{
	Baseline *f = user;

	g_string_append_len(f->out, (const char *)data, size);
	return size;
}

/* FALSE: the client has left.  It reads at once, so a short write does not happen. */
static gboolean baseline_flush(Baseline *f, nghttp2_session *session)
{
	gboolean ok = nghttp2_session_send(session) == 0;

	if (ok && f->out->len)
		ok = send(f->fd, f->out->str, f->out->len, MSG_NOSIGNAL) == (ssize_t)f->out->len;
	g_string_truncate(f->out, 0);
	return ok;
}

static ssize_t baseline_body(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t room,
			     uint32_t *flags, nghttp2_data_source *source, void *user)
{
	static const nghttp2_nv trailers[] = { HEADER("grpc-status", "0") };
	Baseline *f = user;
	const gsize n = MIN(room, f->size - f->sent);

	memcpy(buf, f->framed + f->sent, n);
	f->sent += n;
	if (f->sent == f->size) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, stream, trailers, 1);
	}
	return n;
}

static int baseline_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	static const nghttp2_nv headers[] = { HEADER(":status", "200"),
					      HEADER("content-type", "application/grpc") };
	const nghttp2_data_provider body = { .read_callback = baseline_body };
	Baseline *f = user;

	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
		return 0;
	if (f->state)
		baseline_allocate(f);
	f->sent = 0;
	return nghttp2_submit_response(session, frame->hd.stream_id, headers, 2, &body);
}

static void baseline_serve(Baseline *f)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	guint8 buf[16384];
	ssize_t n;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, baseline_send);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, baseline_frame);
	nghttp2_session_server_new(&session, callbacks, f);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	baseline_flush(f, session);
	while ((n = read(f->fd, buf, sizeof(buf))) > 0) {
		if (nghttp2_session_mem_recv(session, buf, n) < 0 || !baseline_flush(f, session))
			break;
		baseline_after(f);
	}
	nghttp2_session_del(session);
	nghttp2_session_callbacks_del(callbacks);
}

static void baseline_load(Baseline *f, const char *path)
{
	g_autofree char *message = NULL;
	gsize size = 0;
	guint32 be;

	if (!g_file_get_contents(path, &message, &size, NULL))
		g_error("cannot read %s", path);
	be = GUINT32_TO_BE((guint32)size);
	f->size = size + 5;
	f->framed = g_malloc0(f->size);
	memcpy(f->framed + 1, &be, 4);
	memcpy(f->framed + 5, message, size);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	Baseline f = { 0 };
	int listener;

	if (argc != 3 && argc != 5)
		return 2;
	baseline_load(&f, argv[2]);
	f.out = g_string_new(NULL);
	if (argc == 5)
		baseline_open(&f, argv[3], argv[4]);
	g_strlcpy(address.sun_path, argv[1], sizeof(address.sun_path));
	unlink(argv[1]);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 4) < 0)
		g_error("cannot listen at %s", argv[1]);
	while ((f.fd = accept(listener, NULL, NULL)) >= 0) {
		baseline_serve(&f);
		close(f.fd);
	}
	return 0;
}
