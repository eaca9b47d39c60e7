/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad's client, and a server that sends given bytes in pieces */
#include <glib/gstdio.h>
#include <rdmad/grpc.h>
#include <string.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/unix-socket.h"
#include "../support/unit.h"

#define SETTINGS "\0\0\0\4\0\0\0\0\0"
/* ":status: 200" and the start of "content-type", from the static table. */
#define OK_HEAD                                                                                    \
	"\x88\x0f\x10\x10"                                                                         \
	"application/grpc"
#define STATUS(digit) "\0\xbgrpc-status\1" digit
#define HELLO	      "\0\0\0\0\5hello"

/* One frame on stream 1; sizes below 256 only. */
#define FRAME(size, kind, flags) "\0\0" size kind flags "\0\0\0\1"
#define HEADERS(size)		 FRAME(size, "\1", "\4")
#define TRAILERS(size)		 FRAME(size, "\1", "\5")
#define DATA(size)		 FRAME(size, "\0", "\0")
#define BYTES(text)		 text, sizeof(text) - 1

typedef struct {
	RdmadLoop *loop;
	char *directory, *path;
	RdmadUnixFile file;
	int listener;
	RdmadGrpcChannel *channel;
	guint messages, dones;
	RdmadGrpcStatus status;
	char *text;
} Fixture;

static void on_message(const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;

	g_assert_cmpmem(message, size, "hello", 5);
	f->messages++;
}

static void on_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Fixture *f = data;

	f->dones++;
	f->status = status;
	g_free(f->text);
	f->text = g_strdup(text);
}

static const RdmadGrpcRequestOps ops = { on_message, on_done };

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
	f->path = g_build_filename(f->directory, "s", NULL);
	f->listener = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);
	g_assert_cmpint(f->listener, >=, 0);
	f->channel = rdmad_grpc_channel_new(f->loop, NULL, f->path, 0);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_grpc_channel_free(f->channel);
	rdmad_loop_free(f->loop);
	close(f->listener);
	rdmad_unix_file_clear(&f->file);
	g_rmdir(f->directory);
	g_free(f->directory);
	g_free(f->path);
	g_free(f->text);
}

static void nothing(gpointer data)
{
}

static void turn(Fixture *f)
{
	g_autoptr(RdmadEvent) tick = rdmad_loop_add_timer(f->loop, NULL, nothing, NULL);

	rdmad_event_arm(tick, 0);
	rdmad_loop_turn(f->loop);
}

/* Responds to a call with `bytes` in pieces of `step`, then closes the connection. */
static void answer(Fixture *f, const char *bytes, gsize size, gsize step)
{
	int fd;

	f->messages = f->dones = 0;
	rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 0, &ops, f);
	fd = accept(f->listener, NULL, NULL);
	turn(f);
	for (gsize at = 0; at < size; at += step) {
		g_assert_cmpint(send(fd, bytes + at, MIN(step, size - at), MSG_NOSIGNAL), >, 0);
		turn(f);
		turn(f);
	}
	close(fd);
	for (int i = 0; i < 20; i++)
		turn(f);
	g_assert_cmpuint(f->dones, ==, 1);
}

static const char good[] = SETTINGS HEADERS("\x14") OK_HEAD DATA("\xa") HELLO DATA("\xa")
	HELLO TRAILERS("\xf") STATUS("0");

static void test_a_response_may_be_cut_anywhere(Fixture *f, gconstpointer data)
{
	for (gsize step = 1; step < sizeof(good); step++) {
		answer(f, BYTES(good), step);
		g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
		g_assert_cmpuint(f->messages, ==, 2);
	}
}

static void test_a_response_that_stops_anywhere_is_unavailable(Fixture *f, gconstpointer data)
{
	for (gsize size = 0; size < sizeof(good) - 1; size++) {
		answer(f, good, size, 1000);
		g_assert_cmpint(f->status, ==, RDMAD_GRPC_UNAVAILABLE);
	}
}

static void test_wrong_responses_have_their_status(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *bytes;
		gsize size;
		RdmadGrpcStatus status;
	} cases[] = {
		/* trailers only */
		{ BYTES(SETTINGS TRAILERS("\x23") OK_HEAD STATUS("5")), RDMAD_GRPC_NOT_FOUND },
		/* status is not a number */
		{ BYTES(SETTINGS TRAILERS("\x23") OK_HEAD STATUS("x")), RDMAD_GRPC_UNKNOWN },
		/* :status 404, and one that is not a number */
		{ BYTES(SETTINGS TRAILERS("\1") "\x8d"), RDMAD_GRPC_UNIMPLEMENTED },
		{ BYTES(SETTINGS TRAILERS("\5") "\x08\3abc"), RDMAD_GRPC_UNKNOWN },
		/* 503 */
		{ BYTES(SETTINGS TRAILERS("\5") "\x08\3"
						"503"),
		  RDMAD_GRPC_UNAVAILABLE },
		/* no content-type */
		{ BYTES(SETTINGS HEADERS("\1") "\x88"), RDMAD_GRPC_UNKNOWN },
		/* the end without a status: after headers, after data */
		{ BYTES(SETTINGS TRAILERS("\x14") OK_HEAD), RDMAD_GRPC_INTERNAL },
		{ BYTES(SETTINGS HEADERS("\x14") OK_HEAD FRAME("\xa", "\0", "\1") HELLO),
		  RDMAD_GRPC_INTERNAL },
		/* the end within a message */
		{ BYTES(SETTINGS HEADERS("\x14") OK_HEAD DATA("\3") "\0\0\0" TRAILERS("\xf")
				STATUS("0")),
		  RDMAD_GRPC_INTERNAL },
		/* a compressed message */
		{ BYTES(SETTINGS HEADERS("\x14") OK_HEAD DATA("\6") "\1\0\0\0\1x"),
		  RDMAD_GRPC_INTERNAL },
		/* a message of 4 GiB */
		{ BYTES(SETTINGS HEADERS("\x14") OK_HEAD DATA("\5") "\0\xff\xff\xff\xff"),
		  RDMAD_GRPC_RESOURCE_EXHAUSTED },
		/* RST_STREAM: refused, cancel, internal error, calm */
		{ BYTES(SETTINGS FRAME("\4", "\3", "\0") "\0\0\0\7"), RDMAD_GRPC_UNAVAILABLE },
		{ BYTES(SETTINGS FRAME("\4", "\3", "\0") "\0\0\0\x8"), RDMAD_GRPC_CANCELLED },
		{ BYTES(SETTINGS FRAME("\4", "\3", "\0") "\0\0\0\2"), RDMAD_GRPC_INTERNAL },
		{ BYTES(SETTINGS FRAME("\4", "\3", "\0") "\0\0\0\xb"),
		  RDMAD_GRPC_RESOURCE_EXHAUSTED },
		/* GOAWAY that leaves our stream out */
		{ BYTES(SETTINGS "\0\0\x8\7\0\0\0\0\0"
				 "\0\0\0\0\0\0\0\0"),
		  RDMAD_GRPC_UNAVAILABLE },
		/* not HTTP/2 at all */
		{ BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), RDMAD_GRPC_UNAVAILABLE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %u", (guint)i);
		answer(f, cases[i].bytes, cases[i].size, 1000);
		g_assert_cmpint(f->status, ==, cases[i].status);
	}
}

static void test_an_interim_response_is_passed_over(Fixture *f, gconstpointer data)
{
	static const char bytes[] =
		SETTINGS HEADERS("\5") "\x08\3"
				       "103" HEADERS("\x14") OK_HEAD DATA("\xa")
					       HELLO TRAILERS("\xf") STATUS("0");

	answer(f, BYTES(bytes), 1000);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	g_assert_cmpuint(f->messages, ==, 1);
}

/* The old connection waits for its final frames to be read; new calls must not. */
static void test_after_invalid_bytes_the_next_call_has_a_new_connection(Fixture *f,
									gconstpointer data)
{
	static const char nonsense[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	int first;

	rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 0, &ops, f);
	first = accept(f->listener, NULL, NULL);
	turn(f);
	g_assert_cmpint(send(first, nonsense, sizeof(nonsense) - 1, MSG_NOSIGNAL), >, 0);
	turn(f);
	turn(f);
	g_assert_cmpuint(f->dones, ==, 0);
	answer(f, BYTES(good), 1000);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	g_assert_cmpuint(f->messages, ==, 2);
	close(first);
}

static gboolean is_closed(int fd)
{
	char bytes[4096];
	gssize n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		;
	return n == 0;
}

static void test_after_a_deadline_the_next_call_has_a_new_connection(Fixture *f, gconstpointer data)
{
	int first;

	rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 20, &ops, f);
	first = accept(f->listener, NULL, NULL);
	while (!f->dones)
		turn(f);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_DEADLINE_EXCEEDED);
	g_assert_true(is_closed(first));
	answer(f, BYTES(good), 1000);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	close(first);
}

/* Calls without a deadline, or with a later one, continue. */
static void test_a_deadline_ends_no_other_call_of_the_connection(Fixture *f, gconstpointer data)
{
	RdmadGrpcRequest *other =
		rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 0, &ops, f);
	int first = accept(f->listener, NULL, NULL);

	rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 20, &ops, f);
	while (!f->dones)
		turn(f);
	g_assert_cmpint(send(first, good, sizeof(good) - 1, MSG_NOSIGNAL), >, 0);
	for (int i = 0; i < 20 && f->dones < 2; i++)
		turn(f);
	g_assert_cmpuint(f->dones, ==, 2);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	g_assert_nonnull(other);
	close(first);
}

static void test_another_server_at_the_path_gets_the_next_call(Fixture *f, gconstpointer data)
{
	const int old = f->listener;
	RdmadGrpcRequest *hanging =
		rdmad_grpc_channel_call(f->channel, "/t.T/X", (const guint8 *)"", 0, 0, &ops, f);
	int first = accept(old, NULL, NULL);

	turn(f);
	rdmad_unix_file_clear(&f->file);
	f->listener = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);
	answer(f, BYTES(good), 1000);
	g_assert_cmpint(f->status, ==, RDMAD_GRPC_OK);
	rdmad_grpc_request_cancel(hanging);
	close(first);
	close(old);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/grpc/response/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_response_may_be_cut_anywhere),
	TEST(a_response_that_stops_anywhere_is_unavailable),
	TEST(wrong_responses_have_their_status),
	TEST(after_invalid_bytes_the_next_call_has_a_new_connection),
	TEST(after_a_deadline_the_next_call_has_a_new_connection),
	TEST(a_deadline_ends_no_other_call_of_the_connection),
	TEST(another_server_at_the_path_gets_the_next_call),
	TEST(an_interim_response_is_passed_over),
	{ 0 },
};
