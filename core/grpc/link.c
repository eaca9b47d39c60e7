/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of a channel: dispatches events of the session to requests */
#include <rdmad/error.h>

#include "base/unix-socket.h"
#include "grpc/channel-private.h"

static RdmadGrpcRequest *link_request(const RdmadGrpcLink *link, int32_t stream)
{
	return g_hash_table_lookup(link->requests, GINT_TO_POINTER(stream));
}

static void link_begin(int32_t stream, gpointer data)
{
}

static void link_field(int32_t stream, const RdmadGrpcField *field, gpointer data)
{
	RdmadGrpcRequest *request = link_request(data, stream);

	if (request)
		rdmad_grpc_response_head_field(&request->head, field);
}

static void link_headers(int32_t stream, gboolean too_large, gpointer data)
{
	RdmadGrpcRequest *request = link_request(data, stream);

	if (request)
		rdmad_grpc_request_headers(request, too_large);
}

static void link_data(int32_t stream, const guint8 *bytes, gsize size, gpointer data)
{
	RdmadGrpcRequest *request = link_request(data, stream);

	if (request)
		rdmad_grpc_request_receive(request, bytes, size);
}

static void link_ended(int32_t stream, gpointer data)
{
	RdmadGrpcRequest *request = link_request(data, stream);

	if (request)
		rdmad_grpc_request_ended(request);
}

static void link_stream_closed(int32_t stream, guint32 error_code, gpointer data)
{
	RdmadGrpcRequest *request = link_request(data, stream);

	if (request)
		rdmad_grpc_request_reset(request, error_code);
}

/* Stops new requests; the session ends after its last stream. */
static void link_goaway(gpointer data)
{
	RdmadGrpcLink *link = data;

	if (link->channel->current == link)
		link->channel->current = NULL;
}

static void link_ping_acked(gpointer data)
{
}

static void link_flushed(gpointer data)
{
}

/* Iterates over a separate list, because a callback may free the channel. */
static void requests_unavailable(GPtrArray *requests, const char *text)
{
	for (guint i = 0; i < requests->len; i++)
		rdmad_grpc_request_done(g_ptr_array_index(requests, i), RDMAD_GRPC_UNAVAILABLE,
					text);
}

static void link_closed(const char *why, gpointer data)
{
	RdmadGrpcLink *link = data;
	g_autofree char *text =
		g_strdup_printf("%s: the connection ended: %s", link->channel->path, why);
	g_autoptr(GPtrArray) requests =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_grpc_request_unref);
	GHashTableIter iter;
	RdmadGrpcRequest *request;

	g_hash_table_iter_init(&iter, link->requests);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&request)) {
		request->link = NULL;
		g_ptr_array_add(requests, rdmad_grpc_request_ref(request));
	}
	rdmad_grpc_link_free(link);
	requests_unavailable(requests, text);
}

static const RdmadGrpcSessionOps link_ops = {
	.begin = link_begin,
	.field = link_field,
	.headers = link_headers,
	.data = link_data,
	.ended = link_ended,
	.stream_closed = link_stream_closed,
	.goaway = link_goaway,
	.ping_acked = link_ping_acked,
	.flushed = link_flushed,
	.closed = link_closed,
};

RdmadGrpcLink *rdmad_grpc_link_adopt(RdmadGrpcChannel *channel, int fd)
{
	RdmadGrpcLink *link = g_new0(RdmadGrpcLink, 1);

	link->channel = channel;
	link->requests = g_hash_table_new(NULL, NULL);
	link->session = rdmad_grpc_session_new(channel->loop, fd, FALSE, 0, &link_ops, link);
	link->node.data = link;
	g_queue_push_tail_link(&channel->links, &link->node);
	channel->current = link;
	return link;
}

void rdmad_grpc_link_free(RdmadGrpcLink *link)
{
	if (link->channel->current == link)
		link->channel->current = NULL;
	g_queue_unlink(&link->channel->links, &link->node);
	rdmad_grpc_session_free(link->session);
	g_hash_table_unref(link->requests);
	g_free(link);
}

/* Stops new requests; the link ends after its last request. */
static void link_retire(RdmadGrpcLink *link)
{
	if (link->channel->current == link)
		link->channel->current = NULL;
	nghttp2_submit_goaway(rdmad_grpc_session_h2(link->session), NGHTTP2_FLAG_NONE, 0,
			      NGHTTP2_NO_ERROR, NULL, 0);
	rdmad_grpc_session_wake(link->session);
}

/* Returns whether another server has replaced the socket.  The old one may hang and never close the
 * connection. */
static gboolean link_is_outdated(const RdmadGrpcLink *link)
{
	RdmadSocketFile now;

	return rdmad_socket_file_identify(link->channel->path, &now) &&
	       !rdmad_socket_file_equal(&now, &link->server);
}

/* Stops new requests on a link that the peer closed, but still reads its input. */
static void link_check(RdmadGrpcLink *link)
{
	if (rdmad_grpc_session_hung_up(link->session))
		link->channel->current = NULL;
	else if (link_is_outdated(link) ||
		 !nghttp2_session_check_request_allowed(rdmad_grpc_session_h2(link->session)))
		link_retire(link);
}

void rdmad_grpc_link_abandon(RdmadGrpcLink *link, RdmadGrpcRequest *request)
{
	g_hash_table_remove(link->requests, GINT_TO_POINTER(request->stream));
	request->link = NULL;
	if (g_hash_table_size(link->requests)) {
		link_retire(link);
		return;
	}
	/* Close at once: a server that does not read would keep a retired link open forever. */
	rdmad_grpc_session_flush(link->session);
	rdmad_grpc_link_free(link);
}

RdmadGrpcLink *rdmad_grpc_link_get(RdmadGrpcChannel *channel, GError **error)
{
	RdmadSocketFile server;
	RdmadGrpcLink *link;
	int fd;

	/* Detects a restarted server before a call fails. */
	if (channel->current)
		link_check(channel->current);
	if (channel->current)
		return channel->current;
	/* Identify the file before the connect: if a new server starts in between, the next check
	 * reconnects. */
	rdmad_socket_file_identify(channel->path, &server);
	fd = rdmad_unix_connect(SOCK_STREAM, channel->path, error);
	if (fd < 0)
		return NULL;
	link = rdmad_grpc_link_adopt(channel, fd);
	link->server = server;
	return link;
}
