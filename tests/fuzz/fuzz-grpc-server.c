/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes of a client are served or rejected, and leave no state. */
#include <rdmad/fd.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "grpc/server-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Added to input without this prefix: nearly all mutations would fail otherwise. */
static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static void echo(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_reply(call, message, size);
}

static void held_ended(RdmadGrpcCall *call, gpointer data)
{
	rdmad_grpc_call_unref(call);
}

static void hold(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_watch(rdmad_grpc_call_ref(call), NULL, held_ended, NULL);
	rdmad_grpc_call_send(call, message, size);
}

static void fail(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_fail(call, RDMAD_GRPC_ABORTED, "%.*s", (int)size, (const char *)message);
}

static void drop(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
}

static const RdmadGrpcMethod methods[] = {
	{ "/test.Echo/Echo", echo },
	{ "/test.Echo/Watch", hold },
	{ "/test.Echo/Fail", fail },
	{ "/test.Echo/Drop", drop },
	{ NULL, NULL },
};

static void send_all(int fd, const void *bytes, gsize size)
{
	g_assert_cmpint(send(fd, bytes, size, MSG_NOSIGNAL), ==, (gssize)size);
}

/* Plays a client that sends all of its input and closes. */
static void talk(RdmadGrpcServer *server, const guint8 *data, gsize size)
{
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), ==, 0);
	if (size < 3 || memcmp(data, "PRI", 3) != 0)
		send_all(fds[1], hello, sizeof(hello) - 1);
	if (size > 0)
		send_all(fds[1], data, size);
	shutdown(fds[1], SHUT_WR);
	rdmad_grpc_server_adopt(server, fds[0]);
	for (int i = 0; i < 100 && server->connections.length > 0; i++) {
		rdmad_event_arm(server->pause, 0);
		rdmad_loop_turn(server->loop);
	}
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static RdmadGrpcServer *server;

	if (!server) {
		g_autofree char *directory = g_dir_make_tmp("rdmad-fuzz-XXXXXX", NULL);
		g_autofree char *path = g_build_filename(directory, "s", NULL);
		const RdmadGrpcLimits limits = { .max_message = 4096 };

		server = rdmad_grpc_server_new(rdmad_loop_new(), NULL, path, methods, NULL, &limits,
					       NULL);
	}
	if (size > 60000)
		return 0;
	talk(server, data, size);
	g_assert_cmpuint(server->connections.length, ==, 0);
	g_assert_cmpuint(server->totals.calls, ==, 0);
	g_assert_cmpuint(server->held, ==, 0);
	return 0;
}
