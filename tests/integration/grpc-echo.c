/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for the tests of core/grpc
 *
 *	grpc-echo SOCKET [MAX_CONNECTIONS]
 *
 * Messages are plain bytes; numbers are decimal text.  SIGTERM drains, SIGINT ends at once.
 */
#include <rdmad/grpc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"

typedef struct {
	RdmadLoop *loop;
	RdmadGrpcServer *server;
	guint ended; /* streams that the client left */
} Echo;

static void echo(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_reply(call, message, size);
}

/* "STATUS TEXT" */
static void fail(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	g_autofree char *text = g_strndup((const char *)message, size);
	char *end = NULL;
	const guint64 status = g_ascii_strtoull(text, &end, 10);

	rdmad_grpc_call_fail(call, (RdmadGrpcStatus)status, "%s", *end ? end + 1 : "");
}

static void count_ended(RdmadGrpcCall *call, gpointer data)
{
	Echo *e = data;

	e->ended++;
	rdmad_grpc_call_unref(call);
}

/* Never answers. */
static void slow(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_watch(rdmad_grpc_call_ref(call), NULL, count_ended, data);
}

static guint64 number(const guint8 *message, gsize size)
{
	g_autofree char *text = g_strndup((const char *)message, size);

	return g_ascii_strtoull(text, NULL, 10);
}

/* N messages, one in the queue at a time. */
typedef struct {
	Echo *echo;
	guint64 sent, wanted;
	gsize size;
} Stream;

static void stream_end(RdmadGrpcCall *call, gpointer data)
{
	Stream *s = data;

	s->echo->ended++;
	g_free(s);
	rdmad_grpc_call_unref(call);
}

static void stream_next(RdmadGrpcCall *call, gpointer data)
{
	Stream *s = data;
	g_autofree guint8 *body = g_malloc0(s->size + 24);
	const int n = g_snprintf((char *)body, 24, "%" G_GUINT64_FORMAT, s->sent);

	if (s->sent == s->wanted) {
		g_free(s);
		rdmad_grpc_call_finish(call);
		rdmad_grpc_call_unref(call);
		return;
	}
	s->sent++;
	rdmad_grpc_call_send(call, body, MAX((gsize)n, s->size));
}

/* "COUNT SIZE" */
static void stream(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	g_autofree char *text = g_strndup((const char *)message, size);
	char *end = NULL;
	Stream *s = g_new0(Stream, 1);

	s->echo = data;
	s->wanted = g_ascii_strtoull(text, &end, 10);
	s->size = (gsize)g_ascii_strtoull(end, NULL, 10);
	rdmad_grpc_call_watch(rdmad_grpc_call_ref(call), stream_next, stream_end, s);
	stream_next(call, s);
}

/* One message, and then nothing until the client leaves. */
static void watch(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	slow(call, message, size, data);
	rdmad_grpc_call_send(call, message, size);
}

static void big_reply(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	const gsize n = (gsize)number(message, size);
	g_autofree guint8 *body = g_malloc(n);

	memset(body, 'x', n);
	rdmad_grpc_call_reply(call, body, n);
}

/* The sum of the bytes: proof that a large request came whole. */
static void sum(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	guint64 total = 0;
	char text[24];

	for (gsize i = 0; i < size; i++)
		total += message[i];
	g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, total);
	rdmad_grpc_call_reply(call, (const guint8 *)text, strlen(text));
}

static void drop(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
}

/* "connections calls connections_total refused calls_total failed ended" */
static void stats(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	const Echo *e = data;
	RdmadGrpcServerTotals s;
	g_autofree char *text = NULL;

	rdmad_grpc_server_totals(e->server, &s);
	text = g_strdup_printf("%u %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
			       " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u",
			       s.connections, s.calls, s.connections_total, s.refused_total,
			       s.calls_total, s.failed_total, e->ended);
	rdmad_grpc_call_reply(call, (const guint8 *)text, strlen(text));
}

static const RdmadGrpcMethod methods[] = {
	{ "/test.Echo/Echo", echo },   { "/test.Echo/Fail", fail },
	{ "/test.Echo/Slow", slow },   { "/test.Echo/Stream", stream },
	{ "/test.Echo/Watch", watch }, { "/test.Echo/BigReply", big_reply },
	{ "/test.Echo/Sum", sum },     { "/test.Echo/Drop", drop },
	{ "/test.Echo/Stats", stats }, { NULL, NULL },
};

static void drained(gpointer data)
{
	const Echo *e = data;

	rdmad_loop_stop(e->loop);
}

static void on_signal(int signum, gpointer data)
{
	Echo *e = data;

	if (signum == SIGTERM)
		rdmad_grpc_server_drain(e->server, drained, e);
	else
		rdmad_loop_stop(e->loop);
}

int main(int argc, char **argv)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(GError) error = NULL;
	Echo e = { .loop = loop };
	RdmadGrpcLimits limits = { .max_connections = argc > 2 ? (guint)atoi(argv[2]) : 0 };

	if (argc < 2)
		return 2;
	e.server = rdmad_grpc_server_new(loop, NULL, argv[1], methods, &e, &limits, &error);
	if (!e.server) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	g_autoptr(RdmadEvent) term G_GNUC_UNUSED =
		rdmad_loop_add_signal(loop, SIGTERM, on_signal, &e);
	g_autoptr(RdmadEvent) interrupt G_GNUC_UNUSED =
		rdmad_loop_add_signal(loop, SIGINT, on_signal, &e);

	puts("ready");
	fflush(stdout);
	rdmad_loop_run(loop);
	rdmad_grpc_server_free(e.server);
	return 0;
}
