/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/channel-private.h"

#define MAX_MESSAGE (16u * 1024 * 1024)

void rdmad_grpc_channel_free(RdmadGrpcChannel *channel)
{
	if (!channel)
		return;
	rdmad_owned_leave(&channel->owned);
	while (channel->requests.head)
		rdmad_grpc_request_cancel(channel->requests.head->data);
	while (channel->links.head) {
		RdmadGrpcLink *link = channel->links.head->data;

		rdmad_grpc_session_flush(link->session);
		rdmad_grpc_link_free(link);
	}
	g_free(channel->path);
	g_free(channel);
}

static void channel_reap(gpointer channel)
{
	rdmad_grpc_channel_free(channel);
}

RdmadGrpcChannel *rdmad_grpc_channel_new(RdmadLoop *loop, RdmadModule *owner,
					 const char *socket_path, gsize max_message)
{
	RdmadGrpcChannel *channel = g_new0(RdmadGrpcChannel, 1);

	channel->loop = loop;
	channel->path = g_strdup(socket_path);
	channel->stats = rdmad_grpc_stats_of_channels(loop);
	channel->max_message = max_message ? max_message : MAX_MESSAGE;
	rdmad_owned_enter(&channel->owned, loop, owner, channel_reap, channel);
	return channel;
}

RdmadGrpcRequest *rdmad_grpc_channel_call(RdmadGrpcChannel *channel, const char *method,
					  const guint8 *message, gsize size, guint deadline_ms,
					  const RdmadGrpcRequestOps *ops, gpointer data)
{
	RdmadGrpcRequest *request = rdmad_grpc_request_new(channel, message, size, ops, data);

	rdmad_grpc_request_begin(request, method, deadline_ms);
	return request;
}
