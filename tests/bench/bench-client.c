/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-client SOCKET METHOD REQUEST-FILE COUNT [REPLY-FILE]
 *
 * Calls a unary method COUNT times, one after the other, with the bytes of a file, and prints
 * {"p50_us", "p99_us", "calls_per_s"}.  The same client for every server that is compared.
 */
#include <rdmad/grpc.h>
#include <rdmad/loop.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop-private.h"

typedef struct {
	RdmadLoop *loop;
	RdmadGrpcChannel *channel;
	const char *method;
	char *request;
	gsize request_size;
	const char *reply_file;
	gint64 *took_us;
	guint done, count;
	gint64 began_us;
	gboolean failed;
} Bench;

static void bench_next(Bench *b);

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	Bench *b = data;

	if (b->reply_file && b->done == 0)
		g_file_set_contents(b->reply_file, (const char *)message, size, NULL);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Bench *b = data;

	if (status != RDMAD_GRPC_OK) {
		fprintf(stderr, "bench-client: %s: %s\n", rdmad_grpc_status_name(status), text);
		b->failed = TRUE;
		rdmad_loop_stop(b->loop);
		return;
	}
	b->took_us[b->done++] = g_get_monotonic_time() - b->began_us;
	if (b->done == b->count)
		rdmad_loop_stop(b->loop);
	else
		bench_next(b);
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void bench_next(Bench *b)
{
	b->began_us = g_get_monotonic_time();
	rdmad_grpc_channel_call(b->channel, b->method, (const guint8 *)b->request, b->request_size,
				10000, &ops, b);
}

static int compare(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return x < y ? -1 : x > y;
}

static void bench_print(Bench *b, gint64 total_us)
{
	qsort(b->took_us, b->count, sizeof(*b->took_us), compare);
	printf("{\"p50_us\": %" G_GINT64_FORMAT ", \"p99_us\": %" G_GINT64_FORMAT
	       ", \"calls_per_s\": %.0f}\n",
	       b->took_us[b->count / 2], b->took_us[b->count * 99 / 100],
	       b->count * 1e6 / total_us);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	Bench b = { 0 };
	gint64 start;

	if (argc < 5) {
		fputs("usage: bench-client SOCKET METHOD REQUEST-FILE COUNT [REPLY-FILE]\n", stderr);
		return 2;
	}
	if (!g_file_get_contents(argv[3], &b.request, &b.request_size, &error)) {
		fprintf(stderr, "bench-client: %s\n", error->message);
		return 1;
	}
	b.loop = rdmad_loop_new();
	b.channel = rdmad_grpc_channel_new(b.loop, NULL, argv[1], 16u << 20);
	b.method = argv[2];
	b.count = CLAMP(atoi(argv[4]), 1, 1000000);
	b.reply_file = argc > 5 ? argv[5] : NULL;
	b.took_us = g_new0(gint64, b.count);

	start = g_get_monotonic_time();
	bench_next(&b);
	rdmad_loop_run(b.loop);
	if (!b.failed)
		bench_print(&b, g_get_monotonic_time() - start);
	rdmad_grpc_channel_free(b.channel);
	rdmad_loop_free(b.loop);
	g_free(b.took_us);
	g_free(b.request);
	return b.failed ? 1 : 0;
}
