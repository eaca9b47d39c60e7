/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/replay.h"

#include <string.h>

#define PREFACE	       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FIRST_WINDOW   65535 /* of each connection */
#define MESSAGE_EMPTY  5     /* bytes of an empty gRPC message */
#define HEADERS_MAX    1024u
#define SETTINGS_ENTRY 6

/* ---- frame boundaries of the input ---- */

void rdmad_grpc_frames_init(RdmadGrpcFrames *frames, gboolean server)
{
	*frames = (RdmadGrpcFrames){ .left = server ? strlen(PREFACE) : 0 };
}

static void frames_head(RdmadGrpcFrames *frames, guint8 byte)
{
	const guint8 *head = frames->head;

	frames->head[frames->n++] = byte;
	if (frames->n < sizeof(frames->head))
		return;
	frames->n = 0;
	frames->left = (gsize)head[0] << 16 | (gsize)head[1] << 8 | head[2];
}

void rdmad_grpc_frames_pass(RdmadGrpcFrames *frames, const guint8 *bytes, gsize size)
{
	while (size > 0) {
		const gsize n = MIN(size, frames->left);

		frames->left -= n;
		bytes += n;
		size -= n;
		if (size > 0) {
			frames_head(frames, *bytes++);
			size--;
		}
	}
}

gboolean rdmad_grpc_frames_whole(const RdmadGrpcFrames *frames)
{
	return frames->n == 0 && frames->left == 0;
}

/* ---- the replayed bytes ---- */

static void put_number(GByteArray *bytes, guint32 value, guint size)
{
	const guint8 all[] = { (guint8)(value >> 24), (guint8)(value >> 16), (guint8)(value >> 8),
			       (guint8)value };

	g_byte_array_append(bytes, all + sizeof(all) - size, size);
}

static void put_head(GByteArray *bytes, gsize length, guint8 type, guint8 flags, int32_t stream)
{
	put_number(bytes, (guint32)length, 3);
	put_number(bytes, type, 1);
	put_number(bytes, flags, 1);
	put_number(bytes, (guint32)stream, 4);
}

static void put_setting(GByteArray *bytes, guint32 id, guint32 value)
{
	put_number(bytes, id, 2);
	put_number(bytes, value, 4);
}

/* The second frame acknowledges the server's SETTINGS, which the peer has done before. */
static void put_settings(GByteArray *bytes, const RdmadGrpcSessionState *state)
{
	put_head(bytes, 2 * SETTINGS_ENTRY, NGHTTP2_SETTINGS, NGHTTP2_FLAG_NONE, 0);
	put_setting(bytes, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, state->initial_window);
	put_setting(bytes, NGHTTP2_SETTINGS_MAX_FRAME_SIZE, state->max_frame);
	put_head(bytes, 0, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0);
}

static void put_window(GByteArray *bytes, int32_t stream, gint64 more)
{
	if (more <= 0)
		return;
	put_head(bytes, 4, NGHTTP2_WINDOW_UPDATE, NGHTTP2_FLAG_NONE, stream);
	put_number(bytes, (guint32)more, 4);
}

static void put_request(GByteArray *bytes, int32_t stream, const char *path)
{
	const nghttp2_nv fields[] = {
		rdmad_grpc_field_send(":method", "POST"),
		rdmad_grpc_field_send(":scheme", "http"),
		rdmad_grpc_field_send(":path", path),
		rdmad_grpc_field_send(":authority", "localhost"),
		rdmad_grpc_field_send("content-type", "application/grpc"),
		rdmad_grpc_field_send("te", "trailers"),
	};
	nghttp2_hd_deflater *deflater;
	guint8 block[HEADERS_MAX];
	ssize_t n;

	if (nghttp2_hd_deflate_new(&deflater, 0) != 0)
		g_error("out of memory");
	n = nghttp2_hd_deflate_hd(deflater, block, sizeof(block), (nghttp2_nv *)fields,
				  G_N_ELEMENTS(fields));
	nghttp2_hd_deflate_del(deflater);
	g_assert(n > 0); /* methods have short names */
	put_head(bytes, (gsize)n, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream);
	g_byte_array_append(bytes, block, (guint)n);
}

guint32 rdmad_grpc_session_padding(const RdmadGrpcSessionState *state)
{
	const gint64 connection = (gint64)FIRST_WINDOW - state->window;
	const gint64 stream = (gint64)state->initial_window - state->stream_window;

	return (guint32)MAX(MAX(connection, stream), 0);
}

GByteArray *rdmad_grpc_replay(const RdmadGrpcSessionState *state, const char *path)
{
	static const guint8 message[MESSAGE_EMPTY] = { 0 };
	const gint64 padding = rdmad_grpc_session_padding(state);
	GByteArray *bytes = g_byte_array_new();

	g_byte_array_append(bytes, (const guint8 *)PREFACE, strlen(PREFACE));
	put_settings(bytes, state);
	put_window(bytes, 0, state->window + padding - FIRST_WINDOW);
	put_request(bytes, state->stream, path);
	put_window(bytes, state->stream,
		   state->stream_window + padding - (gint64)state->initial_window);
	put_head(bytes, sizeof(message), NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, state->stream);
	g_byte_array_append(bytes, message, sizeof(message));
	return bytes;
}
