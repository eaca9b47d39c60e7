/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad's server and client in one loop */
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/grpc.h>
#include <string.h>

#include "base/loop.h"
#include "grpc/channel-private.h"
#include "service/stats-private.h"

#include "../stats-text.h"
#include "../refusing-epoll.h"
#include "../support/unit.h"

#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadStats *stats;
	RdmadLoop *loop;
	char *directory, *path;
	RdmadGrpcServer *server;
	RdmadGrpcChannel *channel;
	RdmadGrpcRequest *request;
	RdmadGrpcCall *held;	    /* by the handler of "Hold" */
	guint wanted;		    /* messages that "Stream" sends */
	guint sent, ended, drained; /* server side */
	guint messages, dones;	    /* client side */
	gsize bytes;
	RdmadGrpcStatus status;
	char *text;
} Fixture;

/* ---- server side ---- */

static void echo(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_reply(call, message, size);
}

static void fail(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_fail(call, RDMAD_GRPC_NOT_FOUND, "no \xc3\xbc 100%%\n");
	/* The call has ended: these functions do nothing. */
	rdmad_grpc_call_reply(call, message, size);
	rdmad_grpc_call_send(call, message, size);
	rdmad_grpc_call_finish(call);
}

static void held_ended(RdmadGrpcCall *call, gpointer data)
{
	Fixture *f = data;

	g_assert_true(rdmad_grpc_call_has_ended(call));
	f->ended++;
	g_clear_pointer(&f->held, rdmad_grpc_call_unref);
}

static void hold(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	f->held = rdmad_grpc_call_ref(call);
	rdmad_grpc_call_watch(call, NULL, held_ended, f);
	g_assert_false(rdmad_grpc_call_has_ended(call));
	if (size > 0)
		rdmad_grpc_call_send(call, message, size);
}

static void stream_next(RdmadGrpcCall *call, gpointer data)
{
	static const guint8 body[100000];
	Fixture *f = data;

	g_assert_false(rdmad_grpc_call_pending(call));
	if (f->sent == f->wanted) {
		rdmad_grpc_call_finish(call);
		g_clear_pointer(&f->held, rdmad_grpc_call_unref);
		return;
	}
	f->sent++;
	rdmad_grpc_call_send(call, body, sizeof(body));
	g_assert_true(rdmad_grpc_call_pending(call));
}

static void stream(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	f->held = rdmad_grpc_call_ref(call);
	rdmad_grpc_call_watch(call, stream_next, held_ended, f);
	stream_next(call, f);
}

static void suicide(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	g_clear_pointer(&f->server, rdmad_grpc_server_free);
	g_assert_true(rdmad_grpc_call_has_ended(call));
	rdmad_grpc_call_reply(call, message, size);
}

static void count_ended(RdmadGrpcCall *call, gpointer data)
{
	((Fixture *)data)->ended++;
}

/* Sends more than the server may buffer. */
static void too_much(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;
	const gsize much = 100 * 1024 * 1024;
	g_autofree guint8 *body = g_malloc0(much);

	rdmad_grpc_call_watch(call, NULL, count_ended, f);
	rdmad_grpc_call_reply(call, body, much);
}

static const RdmadGrpcMethod methods[] = {
	{ "/t.T/Echo", echo },
	{ "/t.T/Fail", fail },
	{ "/t.T/Hold", hold },
	{ "/t.T/Stream", stream },
	{ "/t.T/Suicide", suicide },
	{ "/t.T/TooMuch", too_much },
	{ NULL, NULL },
};

/* ---- client side ---- */

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	f->messages++;
	f->bytes += size;
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Fixture *f = data;

	f->dones++;
	f->status = status;
	g_free(f->text);
	f->text = g_strdup(text);
	f->request = NULL;
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void call_with(Fixture *f, const char *method, const char *text, guint deadline_ms,
		      const RdmadGrpcRequestOps *with)
{
	f->request = rdmad_grpc_channel_call(f->channel, method, (const guint8 *)text, strlen(text),
					     deadline_ms, with, f);
}

static void call(Fixture *f, const char *method, const char *text, guint deadline_ms)
{
	call_with(f, method, text, deadline_ms, &ops);
}

static void nothing(gpointer data)
{
}

/* Runs the loop until `*count` is `wanted`, for at most 30 s. */
static void run_until(Fixture *f, const guint *count, guint wanted)
{
	g_autoptr(RdmadEvent) tick = rdmad_loop_add_timer(f->loop, NULL, nothing, NULL);
	const gint64 end = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;

	while (*count != wanted && g_get_monotonic_time() < end) {
		rdmad_event_arm(tick, 20);
		rdmad_loop_turn(f->loop);
	}
	g_assert_cmpuint(*count, ==, wanted);
}

static void run_a_while(Fixture *f)
{
	guint never = 0;
	g_autoptr(RdmadEvent) tick = rdmad_loop_add_timer(f->loop, NULL, nothing, NULL);
	const gint64 end = g_get_monotonic_time() + 30000;

	while (never == 0 && g_get_monotonic_time() < end) {
		rdmad_event_arm(tick, 5);
		rdmad_loop_turn(f->loop);
	}
}

static void start(Fixture *f)
{
	g_autoptr(GError) error = NULL;

	f->server = rdmad_grpc_server_new(f->loop, NULL, f->path, methods, f, NULL, &error);
	g_assert_no_error(error);
}

static void setup(Fixture *f, gconstpointer data)
{
	f->stats = rdmad_stats_new();
	f->loop = rdmad_loop_new();
	rdmad_loop_set_stats(f->loop, f->stats);
	f->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
	f->path = g_build_filename(f->directory, "s", NULL);
	start(f);
	f->channel = rdmad_grpc_channel_new(f->loop, NULL, f->path, 0);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_grpc_channel_free(f->channel);
	rdmad_grpc_server_free(f->server);
	g_assert_null(f->held);
	g_assert_cmpuint(rdmad_loop_owned(f->loop, NULL), ==, 0);
	rdmad_loop_free(f->loop);
	rdmad_stats_free(f->stats);
	g_assert_cmpint(g_rmdir(f->directory), ==, 0);
	g_free(f->directory);
	g_free(f->path);
	g_free(f->text);
}

static void test_no_end_is_reported_after_the_reply(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/TooMuch", "", 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_RESOURCE_EXHAUSTED);
	run_a_while(f);
	g_assert_cmpuint(f->ended, ==, 0);
}

static void test_a_call_is_answered(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Echo", "hello", 0);
	g_assert_cmpuint(f->dones, ==, 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	g_assert_cmpuint(f->messages, ==, 1);
	g_assert_cmpuint(f->bytes, ==, 5);
}

static void test_a_failure_comes_with_its_text(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Fail", "", 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_NOT_FOUND);
	g_assert_cmpstr(f->text, ==, "no \xc3\xbc 100%\n");
	g_assert_cmpuint(f->messages, ==, 0);
}

static void test_a_stream_is_sent_message_by_message(Fixture *f, gconstpointer data)
{
	f->wanted = 50;
	call(f, "/t.T/Stream", "", 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	g_assert_cmpuint(f->messages, ==, 50);
	g_assert_cmpuint(f->bytes, ==, 5000000);
	g_assert_cmpuint(f->ended, ==, 0);
}

static void test_a_large_message_goes_both_ways(Fixture *f, gconstpointer data)
{
	g_autofree char *text = g_strnfill(3 * 1024 * 1024, 'x');

	call(f, "/t.T/Echo", text, 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpuint(f->bytes, ==, 3 * 1024 * 1024);
}

static void test_a_deadline_ends_the_call_on_both_sides(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "", 500); /* the server of a busy machine has the call by then */
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_DEADLINE_EXCEEDED);
	run_until(f, &f->ended, 1);
}

static void test_a_cancelled_request_is_over_at_once(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	rdmad_grpc_request_cancel(f->request);
	run_until(f, &f->ended, 1);
	g_assert_cmpuint(f->dones, ==, 0);
}

static void test_a_request_may_be_cancelled_before_it_is_sent(Fixture *f, gconstpointer data)
{
	RdmadGrpcServerTotals totals;

	for (int i = 0; i < 300; i++) {
		call(f, "/t.T/Hold", "", 0);
		rdmad_grpc_request_cancel(f->request);
	}
	call(f, "/t.T/Echo", "", 0);
	run_until(f, &f->dones, 1);
	rdmad_grpc_server_totals(f->server, &totals);
	g_assert_cmpuint(totals.calls_total, ==, 1);
}

static void cancel_on_message(const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	f->messages++;
	rdmad_grpc_request_cancel(f->request);
}

static void test_a_request_may_be_cancelled_from_its_message(Fixture *f, gconstpointer data)
{
	static const RdmadGrpcRequestOps cancelling = { cancel_on_message, on_done };

	f->wanted = 1000;
	call_with(f, "/t.T/Stream", "", 0, &cancelling);
	run_until(f, &f->ended, 1);
	g_assert_cmpuint(f->messages, ==, 1);
	g_assert_cmpuint(f->dones, ==, 0);
}

static void free_on_message(const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	f->messages++;
	g_clear_pointer(&f->channel, rdmad_grpc_channel_free);
}

static void test_a_channel_may_be_freed_from_a_message(Fixture *f, gconstpointer data)
{
	static const RdmadGrpcRequestOps freeing = { free_on_message, on_done };

	f->wanted = 1000;
	call_with(f, "/t.T/Stream", "", 0, &freeing);
	run_until(f, &f->ended, 1);
	g_assert_cmpuint(f->messages, ==, 1);
	g_assert_cmpuint(f->dones, ==, 0);
}

static void free_on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Fixture *f = data;

	on_done(status, text, data);
	g_clear_pointer(&f->channel, rdmad_grpc_channel_free);
}

static void test_a_channel_may_be_freed_from_done(Fixture *f, gconstpointer data)
{
	static const RdmadGrpcRequestOps freeing = { on_message, free_on_done };

	call_with(f, "/t.T/Echo", "x", 0, &freeing);
	call(f, "/t.T/Echo", "y", 0);
	run_until(f, &f->dones, 1);
	run_a_while(f);
	g_assert_cmpuint(f->dones, ==, 1);
}

static void test_a_server_may_be_freed_from_a_handler(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Suicide", "x", 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_UNAVAILABLE);
	g_assert_null(f->server);
}

static void test_a_freed_server_ends_its_calls(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	g_clear_pointer(&f->server, rdmad_grpc_server_free);
	g_assert_cmpuint(f->ended, ==, 1);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_UNAVAILABLE);
	g_assert_false(g_file_test(f->path, G_FILE_TEST_EXISTS));
}

static void test_a_channel_finds_a_server_that_came_again(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->dones, 1);
	rdmad_grpc_server_free(f->server);
	start(f);
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->dones, 2);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
}

static void test_no_server_is_unavailable_and_reported_later(Fixture *f, gconstpointer data)
{
	g_clear_pointer(&f->server, rdmad_grpc_server_free);
	call(f, "/t.T/Echo", "x", 0);
	g_assert_cmpuint(f->dones, ==, 0);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_UNAVAILABLE);
	g_assert_nonnull(strstr(f->text, f->path));
}

static void count_drained(gpointer data)
{
	Fixture *f = data;

	f->drained++;
}

static void test_a_drain_waits_for_open_calls(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	rdmad_grpc_server_drain(f->server, count_drained, f);
	g_assert_false(g_file_test(f->path, G_FILE_TEST_EXISTS));
	run_a_while(f);
	g_assert_cmpuint(f->drained, ==, 0);
	rdmad_grpc_call_finish(f->held);
	g_clear_pointer(&f->held, rdmad_grpc_call_unref);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	run_until(f, &f->drained, 1);
}

static void test_a_drain_after_a_freeze_reads_again(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	rdmad_grpc_server_freeze(f->server, count_drained, f);
	run_until(f, &f->drained, 1);
	rdmad_grpc_server_drain(f->server, count_drained, f);
	rdmad_grpc_request_cancel(f->request);
	run_until(f, &f->ended, 1);
	run_until(f, &f->drained, 2);
}

static void test_clients_are_awaited(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	rdmad_grpc_server_freeze(f->server, NULL, NULL);
	run_a_while(f);
	rdmad_grpc_server_await_clients(f->server, count_drained, f);
	g_assert_false(g_file_test(f->path, G_FILE_TEST_EXISTS));
	rdmad_grpc_call_finish(f->held);
	g_clear_pointer(&f->held, rdmad_grpc_call_unref);
	run_until(f, &f->dones, 1);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	run_a_while(f);
	g_assert_cmpuint(f->drained, ==, 0);
	g_clear_pointer(&f->channel, rdmad_grpc_channel_free);
	run_until(f, &f->drained, 1);
}

/* A frozen server reads nothing, not even the end of the connection. */
static void test_a_call_has_ended_when_its_client_is_gone(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	rdmad_grpc_server_freeze(f->server, count_drained, f);
	run_until(f, &f->drained, 1);
	g_assert_false(rdmad_grpc_call_has_ended(f->held));
	g_clear_pointer(&f->channel, rdmad_grpc_channel_free);
	g_assert_true(rdmad_grpc_call_has_ended(f->held));
	g_assert_cmpuint(f->ended, ==, 0);
}

static void test_a_drain_of_an_idle_server_ends_on_the_loop(Fixture *f, gconstpointer data)
{
	rdmad_grpc_server_drain(f->server, count_drained, f);
	g_assert_cmpuint(f->drained, ==, 0);
	run_until(f, &f->drained, 1);
}

static void test_objects_of_an_ended_module_are_freed_silently(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_strconcat(f->path, "2", NULL);
	RdmadGrpcChannel *left = rdmad_grpc_channel_new(f->loop, SOME_MODULE, path, 0);
	RdmadGrpcServer *server =
		rdmad_grpc_server_new(f->loop, SOME_MODULE, path, methods, f, NULL, NULL);

	g_assert_nonnull(server);
	rdmad_grpc_channel_call(left, "/t.T/Hold", (const guint8 *)"x", 1, 0, &ops, f);
	run_until(f, &f->messages, 1);
	g_assert_cmpuint(rdmad_loop_reap(f->loop, SOME_MODULE), ==, 2);
	run_a_while(f);
	g_assert_cmpuint(f->ended, ==, 0);
	g_assert_cmpuint(f->dones, ==, 0);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	/* The module still has a reference, but the call has no effect. */
	rdmad_grpc_call_reply(f->held, NULL, 0);
	g_clear_pointer(&f->held, rdmad_grpc_call_unref);
}

static void test_the_numbers_of_a_server_add_up(Fixture *f, gconstpointer data)
{
	RdmadGrpcServerTotals s;

	call(f, "/t.T/Echo", "x", 0);
	call(f, "/t.T/Fail", "x", 0);
	call(f, "/t.T/Nope", "x", 0);
	run_until(f, &f->dones, 3);
	rdmad_grpc_server_totals(f->server, &s);
	g_assert_cmpuint(s.connections, ==, 1);
	g_assert_cmpuint(s.calls, ==, 0);
	g_assert_cmpuint(s.connections_total, ==, 1);
	g_assert_cmpuint(s.calls_total, ==, 2);
	g_assert_cmpuint(s.failed_total, ==, 2);
}

static void expect_counted(Fixture *f, const char *family, const char *expected)
{
	g_autofree char *calls = g_strdup_printf("rdmad_grpc_%scalls", family);

	stats_expect(f->stats, calls, expected);
}

static void test_calls_are_counted_on_both_sides(Fixture *f, gconstpointer data)
{
	const char *const methods_called[] = { "Echo", "Echo", "Fail", "Nope", "Other" };

	for (guint i = 0; i < G_N_ELEMENTS(methods_called); i++) {
		g_autofree char *path = g_strconcat("/t.T/", methods_called[i], NULL);

		call(f, path, "x", 0);
		run_until(f, &f->dones, i + 1);
	}
	/* Clients choose unknown methods, so these share one name. */
	expect_counted(f, "", "/t.T/Echo,OK 2;/t.T/Fail,NOT_FOUND 1;unknown,UNIMPLEMENTED 2;");
	expect_counted(f, "client_",
		       "/t.T/Echo,OK 2;/t.T/Fail,NOT_FOUND 1;/t.T/Nope,UNIMPLEMENTED 1;"
		       "/t.T/Other,UNIMPLEMENTED 1;");
	stats_expect(f->stats, "rdmad_grpc_call_duration_seconds",
		     "/t.T/Echo 2;/t.T/Fail 1;unknown 2;");
}

static void test_a_call_that_is_given_up_is_counted_once(Fixture *f, gconstpointer data)
{
	call(f, "/t.T/Hold", "first", 0);
	run_until(f, &f->messages, 1);
	expect_counted(f, "", "");
	rdmad_grpc_request_cancel(f->request);
	expect_counted(f, "client_", "/t.T/Hold,CANCELLED 1;");
	run_until(f, &f->ended, 1);
	expect_counted(f, "", "/t.T/Hold,CANCELLED 1;");
	call(f, "/t.T/Hold", "second", 500);
	run_until(f, &f->messages, 2);
	g_usleep(510 * 1000); /* both deadlines pass before the server reads the client's reset */
	run_until(f, &f->ended, 2);
	run_a_while(f);
	expect_counted(f, "", "/t.T/Hold,CANCELLED 1;/t.T/Hold,DEADLINE_EXCEEDED 1;");
}

static void test_a_call_ends_when_epoll_refuses_its_connection(Fixture *f, gconstpointer data)
{
	refuse.ctl = ENOMEM;
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->dones, 1);
	refuse.ctl = 0;
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_UNAVAILABLE);
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->dones, 2);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
}

static void test_a_server_that_epoll_refuses_is_an_error(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_build_filename(f->directory, "other", NULL);

	refuse.ctl = ENOMEM;
	g_assert_null(rdmad_grpc_server_new(f->loop, NULL, path, methods, f, NULL, &error));
	refuse.ctl = 0;
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* The server is full with connections of other clients; the oldest one has a call. */
static void test_the_oldest_idle_connection_yields_to_a_new_one(Fixture *f, gconstpointer data)
{
	enum { MAX = 16 };
	RdmadGrpcChannel *others[MAX];
	RdmadGrpcChannel *mine = f->channel;
	RdmadGrpcServerTotals totals;

	for (guint i = 0; i < MAX; i++) {
		f->channel = others[i] = rdmad_grpc_channel_new(f->loop, NULL, f->path, 0);
		call(f, i == 0 ? "/t.T/Hold" : "/t.T/Echo", "x", 0);
		run_until(f, &f->messages, i + 1);
	}
	/* The second connection had the last call, so the third has been idle longest. */
	f->channel = others[1];
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->messages, MAX + 1);
	f->channel = mine;
	call(f, "/t.T/Echo", "x", 0);
	run_until(f, &f->messages, MAX + 2);
	rdmad_grpc_server_totals(f->server, &totals);
	g_assert_cmpuint(totals.refused_total, ==, 0);
	g_assert_cmpuint(totals.connections, ==, MAX);
	g_assert_cmpuint(f->ended, ==, 0);
	g_assert_null(others[2]->current);
	g_assert_nonnull(others[1]->current);
	for (guint i = 0; i < MAX; i++)
		rdmad_grpc_channel_free(others[i]);
	run_until(f, &f->ended, 1);
}

#define TEST(name) UNIT_FIXTURE_TEST("/grpc/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(calls_are_counted_on_both_sides),
	TEST(a_call_that_is_given_up_is_counted_once),
	TEST(a_call_is_answered),
	TEST(no_end_is_reported_after_the_reply),
	TEST(a_failure_comes_with_its_text),
	TEST(a_stream_is_sent_message_by_message),
	TEST(a_large_message_goes_both_ways),
	TEST(a_deadline_ends_the_call_on_both_sides),
	TEST(a_cancelled_request_is_over_at_once),
	TEST(a_request_may_be_cancelled_before_it_is_sent),
	TEST(a_request_may_be_cancelled_from_its_message),
	TEST(a_channel_may_be_freed_from_a_message),
	TEST(a_channel_may_be_freed_from_done),
	TEST(a_server_may_be_freed_from_a_handler),
	TEST(a_freed_server_ends_its_calls),
	TEST(a_channel_finds_a_server_that_came_again),
	TEST(no_server_is_unavailable_and_reported_later),
	TEST(a_drain_waits_for_open_calls),
	TEST(clients_are_awaited),
	TEST(a_drain_after_a_freeze_reads_again),
	TEST(a_call_has_ended_when_its_client_is_gone),
	TEST(a_drain_of_an_idle_server_ends_on_the_loop),
	TEST(objects_of_an_ended_module_are_freed_silently),
	TEST(a_call_ends_when_epoll_refuses_its_connection),
	TEST(a_server_that_epoll_refuses_is_an_error),
	TEST(the_oldest_idle_connection_yields_to_a_new_one),
	TEST(the_numbers_of_a_server_add_up),
	{ 0 },
};
