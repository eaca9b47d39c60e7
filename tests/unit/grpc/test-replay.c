/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/replay.h"

#include <string.h>

#include "support/unit.h"

typedef struct {
	const char *name;
	RdmadGrpcSessionState state;
} ReplayCase;

static const ReplayCase replays[] = {
	{ "nothing was sent", { 3, 65535, 16384, 65535, 65535 } },
	{ "the connection has less", { 3, 65535, 16384, 40000, 65535 } },
	{ "the stream has less", { 5, 65535, 16384, 65535, 20000 } },
	{ "both have less", { 7, 65535, 32768, 50000, 10000 } },
	{ "both have nothing", { 9, 65535, 16384, 0, 0 } },
	{ "both have more", { 11, 65535, 16384, 1048576, 262144 } },
	{ "large windows, partly used", { 1, 4194304, 16384, 900000, 4000000 } },
	{ "small streams", { 13, 0, 16384, 65535, 0 } },
	{ "small streams that were given more", { 15, 10, 16384, 30000, 5000 } },
};

typedef struct {
	guint32 padding;
	gboolean requested;
	char *path;
} Peer;

static ssize_t read_padding(nghttp2_session *h2, int32_t stream, uint8_t *bytes, size_t size,
			    uint32_t *flags, nghttp2_data_source *source, void *data)
{
	Peer *peer = data;
	const gsize n = MIN(size, peer->padding);

	if (n == 0)
		return NGHTTP2_ERR_DEFERRED;
	memset(bytes, 0, n);
	peer->padding -= (guint32)n;
	return (ssize_t)n;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *data)
{
	Peer *peer = data;

	if (name_size == 5 && memcmp(name, ":path", 5) == 0)
		peer->path = g_strndup((const char *)value, value_size);
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	Peer *peer = data;

	if (frame->hd.type == NGHTTP2_DATA && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		peer->requested = TRUE;
	return 0;
}

static nghttp2_session *session_new(Peer *peer)
{
	static const nghttp2_settings_entry table = { NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0 };
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *h2;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_server_new(&h2, callbacks, peer);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(h2, NGHTTP2_FLAG_NONE, &table, 1);
	return h2;
}

static void discard(nghttp2_session *h2)
{
	const guint8 *bytes;

	while (nghttp2_session_mem_send(h2, &bytes) > 0)
		;
}

static void test_replay(gconstpointer data)
{
	const RdmadGrpcSessionState *state = &((const ReplayCase *)data)->state;
	const nghttp2_data_provider provider = { .read_callback = read_padding };
	g_autoptr(GByteArray) bytes = rdmad_grpc_replay(state, "/a.B/C");
	Peer peer = { .padding = rdmad_grpc_session_padding(state) };
	nghttp2_session *h2 = session_new(&peer);
	RdmadGrpcFrames frames;

	rdmad_grpc_frames_init(&frames, TRUE);
	rdmad_grpc_frames_pass(&frames, bytes->data, bytes->len);
	g_assert_true(rdmad_grpc_frames_whole(&frames));
	g_assert_cmpint(nghttp2_session_mem_recv(h2, bytes->data, bytes->len), ==, bytes->len);
	g_assert_true(peer.requested);
	g_assert_cmpstr(peer.path, ==, "/a.B/C");
	nghttp2_submit_response(h2, state->stream, NULL, 0, &provider);
	discard(h2);
	g_assert_cmpuint(peer.padding, ==, 0);
	g_assert_cmpint(nghttp2_session_get_remote_window_size(h2), ==, state->window);
	g_assert_cmpint(nghttp2_session_get_stream_remote_window_size(h2, state->stream), ==,
			state->stream_window);
	g_assert_cmpuint(nghttp2_session_get_local_settings(h2, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE),
			 ==, 0);
	g_assert_cmpuint(
		nghttp2_session_get_remote_settings(h2, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), ==,
		state->initial_window);
	nghttp2_session_del(h2);
	g_free(peer.path);
}

/* In pieces of any size. */
static void test_input_is_whole_between_frames_alone(void)
{
	const RdmadGrpcSessionState state = { 3, 65535, 16384, 65535, 65535 };
	g_autoptr(GByteArray) bytes = rdmad_grpc_replay(&state, "/a.B/C");
	RdmadGrpcFrames frames;
	guint whole = 0;

	rdmad_grpc_frames_init(&frames, TRUE);
	for (guint i = 0; i < bytes->len; i++) {
		rdmad_grpc_frames_pass(&frames, bytes->data + i, 1);
		whole += rdmad_grpc_frames_whole(&frames);
	}
	/* The preface, SETTINGS, its acknowledgement, HEADERS, DATA. */
	g_assert_cmpuint(whole, ==, 5);
	g_assert_true(rdmad_grpc_frames_whole(&frames));
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/grpc-replay/windows/", replays, test_replay),
	UNIT_TEST("/grpc-replay/input-is-whole-between-frames-alone",
		  test_input_is_whole_between_frames_alone),
	{ NULL },
};
