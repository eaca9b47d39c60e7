/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for the tests of core/grpc
 *
 *	grpc-call SOCKET METHOD TEXT [DEADLINE_MS [MAX_MESSAGE]]
 *	grpc-call SOCKET METHOD TEXT bench COUNT
 *
 * Prints a line for each message (its size and beginning), then "STATUS: text".  With "bench" the
 * median and the 99th percentile of COUNT calls, one after the other.
 */
#include <rdmad/grpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"

typedef struct {
	RdmadLoop *loop;
	RdmadGrpcChannel *channel;
	const char *method, *text;
	gboolean bench;
	guint done, wanted;
	gint64 *took;
	gint64 began;
} Client;

static void begin(Client *c, guint deadline_ms);

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	const Client *c = data;

	if (!c->bench)
		printf("message %zu %.*s\n", size, (int)MIN(size, (gsize)60),
		       (const char *)message);
}

static int compare(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Client *c = data;

	c->took[c->done++] = g_get_monotonic_time() - c->began;
	if (!c->bench || status != RDMAD_GRPC_OK)
		printf("%s: %s\n", rdmad_grpc_status_name(status), text);
	if (c->done < c->wanted && status == RDMAD_GRPC_OK)
		begin(c, 0);
	else
		rdmad_loop_stop(c->loop);
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void begin(Client *c, guint deadline_ms)
{
	c->began = g_get_monotonic_time();
	rdmad_grpc_channel_call(c->channel, c->method, (const guint8 *)c->text, strlen(c->text),
				deadline_ms, &ops, c);
}

int main(int argc, char **argv)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(RdmadGrpcChannel) channel = NULL;
	Client c = { .loop = loop, .wanted = 1 };

	if (argc < 4)
		return 2;
	c.bench = argc > 5 && strcmp(argv[4], "bench") == 0;
	if (c.bench)
		c.wanted = (guint)atoi(argv[5]);
	c.took = g_new0(gint64, MAX(c.wanted, 1));
	channel = rdmad_grpc_channel_new(loop, NULL, argv[1],
					 argc > 5 && !c.bench ? (gsize)atoi(argv[5]) : 0);
	c.channel = channel;
	c.method = argv[2];
	c.text = argv[3];
	begin(&c, argc > 4 && !c.bench ? (guint)atoi(argv[4]) : 0);
	rdmad_loop_run(loop);
	if (c.bench) {
		qsort(c.took, c.done, sizeof(*c.took), compare);
		printf("%u calls, p50 %d us, p99 %d us\n", c.done, (int)c.took[c.done / 2],
		       (int)c.took[c.done * 99 / 100]);
	}
	g_free(c.took);
	return 0;
}
