/* SPDX-License-Identifier: Apache-2.0 */
/* Every call ends exactly once, for any bytes that a server sends. */
#include <rdmad/fd.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "grpc/channel-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS 3

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	guint sum = 0;

	for (gsize i = 0; i < size; i++)
		sum += message[i];
	g_assert_cmpuint(sum, <=, 255 * size);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	guint *dones = data;

	g_assert_true(g_utf8_validate(text, -1, NULL));
	g_assert_nonnull(rdmad_grpc_status_name(status));
	(*dones)++;
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void nothing(gpointer data)
{
}

static void turn(RdmadLoop *loop, RdmadEvent *tick)
{
	rdmad_event_arm(tick, 0);
	rdmad_loop_turn(loop);
}

/* Plays a server that sends all of its input and closes. */
static void talk(RdmadLoop *loop, RdmadGrpcChannel *channel, const guint8 *data, gsize size)
{
	g_autoptr(RdmadEvent) tick = rdmad_loop_add_timer(loop, NULL, nothing, NULL);
	guint dones = 0;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), ==, 0);
	rdmad_grpc_link_adopt(channel, fds[0]);
	for (int i = 0; i < CALLS; i++)
		rdmad_grpc_channel_call(channel, "/t.T/X", (const guint8 *)"x", 1, 0, &ops, &dones);
	turn(loop, tick);
	if (size > 0)
		g_assert_cmpint(send(fds[1], data, size, MSG_NOSIGNAL), ==, (gssize)size);
	shutdown(fds[1], SHUT_WR);
	for (int i = 0; i < 100 && channel->links.length > 0; i++)
		turn(loop, tick);
	close(fds[1]);
	g_assert_cmpuint(dones, ==, CALLS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static RdmadLoop *loop;
	static RdmadGrpcChannel *channel;

	if (!loop) {
		loop = rdmad_loop_new();
		channel = rdmad_grpc_channel_new(loop, NULL, "/nonexistent", 4096);
	}
	if (size > 60000)
		return 0;
	talk(loop, channel, data, size);
	g_assert_cmpuint(channel->links.length, ==, 0);
	g_assert_cmpuint(channel->requests.length, ==, 0);
	return 0;
}
