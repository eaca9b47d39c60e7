/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-client SOCKET METHOD REQUESTS-FILE COUNT[@CALLERS][+PAUSE] [REPLY-FILE]
 *
 * Calls a unary method COUNT times, on one connection, each of CALLERS (1) one call after the other
 * and PAUSE (0) milliseconds between them, with the messages of a file in turn (each behind its
 * length, 4 bytes big-endian), and prints {"p50_us", "p99_us", "calls_per_s"}.  The same client for
 * every server that is compared.
 */
#include <rdmad/grpc.h>
#include <rdmad/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "samples.h"

typedef struct {
	RdmadLoop *loop;
	RdmadGrpcChannel *channel;
	const char *method;
	char *requests;
	gsize requests_size, next; /* of the request that comes next, its place */
	const char *reply_file;
	GArray *took;
	guint begun, count, pause_ms;
	gboolean failed;
} Bench;

typedef struct {
	Bench *bench;
	RdmadEvent *pause;
	gint64 began;
} Caller;

static void caller_next(gpointer data);

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	const Bench *b = ((const Caller *)data)->bench;

	if (b->reply_file && b->took->len == 0)
		g_file_set_contents(b->reply_file, (const char *)message, size, NULL);
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Caller *caller = data;
	Bench *b = caller->bench;

	if (status != RDMAD_GRPC_OK) {
		fprintf(stderr, "bench-client: %s: %s\n", rdmad_grpc_status_name(status), text);
		b->failed = TRUE;
		rdmad_loop_stop(b->loop);
		return;
	}
	samples_add(b->took, caller->began);
	if (b->took->len == b->count)
		rdmad_loop_stop(b->loop);
	else if (b->begun < b->count && b->pause_ms)
		rdmad_event_arm(caller->pause, b->pause_ms);
	else if (b->begun < b->count)
		caller_next(caller);
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static guint32 size_at(const Bench *b, gsize place)
{
	guint32 size = 0;

	if (place + sizeof(size) <= b->requests_size)
		memcpy(&size, b->requests + place, sizeof(size));
	size = GUINT32_FROM_BE(size);
	if (size > b->requests_size || place + sizeof(size) + size > b->requests_size)
		g_error("bench-client: the file of requests is cut off");
	return size;
}

static void caller_next(gpointer data)
{
	Caller *caller = data;
	Bench *b = caller->bench;
	const guint32 size = size_at(b, b->next);
	const guint8 *request = (const guint8 *)b->requests + b->next + sizeof(size);

	b->next += sizeof(size) + size;
	if (b->next == b->requests_size)
		b->next = 0;
	b->begun++;
	caller->began = samples_now();
	rdmad_grpc_channel_call(b->channel, b->method, request, size, 10000, &ops, caller);
}

static void bench_print(Bench *b, gint64 began)
{
	const double seconds = (double)(samples_now() - began) / 1e9;

	printf("{\"p50_us\": %.1f, \"p99_us\": %.1f, \"calls_per_s\": %.0f}\n",
	       samples_percentile(b->took, 50), samples_percentile(b->took, 99),
	       b->count / seconds);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autofree Caller *callers = NULL;
	const char *at = argc > 4 ? strchr(argv[4], '@') : NULL;
	const char *plus = argc > 4 ? strchr(argv[4], '+') : NULL;
	Bench b = { 0 };
	guint n_callers;
	gint64 start;

	if (argc < 5) {
		fputs("usage: bench-client SOCKET METHOD REQUESTS-FILE COUNT[@CALLERS][+PAUSE] "
		      "[REPLY-FILE]\n",
		      stderr);
		return 2;
	}
	if (!g_file_get_contents(argv[3], &b.requests, &b.requests_size, &error)) {
		fprintf(stderr, "bench-client: %s\n", error->message);
		return 1;
	}
	b.loop = rdmad_loop_new();
	b.channel = rdmad_grpc_channel_new(b.loop, NULL, argv[1], 16u << 20);
	b.method = argv[2];
	b.count = CLAMP(atoi(argv[4]), 1, 1000000);
	b.pause_ms = plus ? CLAMP(atoi(plus + 1), 1, 1000) : 0;
	b.reply_file = argc > 5 ? argv[5] : NULL;
	b.took = samples_new();
	n_callers = at ? CLAMP(atoi(at + 1), 1, (int)b.count) : 1;
	callers = g_new0(Caller, n_callers);

	start = samples_now();
	for (guint i = 0; i < n_callers; i++) {
		callers[i].bench = &b;
		callers[i].pause = rdmad_loop_add_timer(b.loop, NULL, caller_next, &callers[i]);
		caller_next(&callers[i]);
	}
	rdmad_loop_run(b.loop);
	if (!b.failed)
		bench_print(&b, start);
	for (guint i = 0; i < n_callers; i++)
		rdmad_event_free(callers[i].pause);
	rdmad_grpc_channel_free(b.channel);
	rdmad_loop_free(b.loop);
	g_array_unref(b.took);
	g_free(b.requests);
	return b.failed ? 1 : 0;
}
