/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/message-socket.h>
#include <string.h>
#include <sys/stat.h>

#include "../refusing-epoll.h"
#include "base/loop.h"
#include "base/unix-socket.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadMessageServer *server;
	char *directory, *path;
	int client;
	RdmadMessagePeer *peer; /* the sender of the last message */
	guint messages, gone;
	char *text;
	gsize size;
	guint n_fds;
	int kept; /* the first descriptor of the last message */
	guint descriptors;
} Fixture;

static void on_message(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	Fixture *f = data;

	f->peer = peer;
	f->messages++;
	g_free(f->text);
	f->text = g_strndup((const char *)message->bytes, message->size);
	f->size = message->size;
	f->n_fds = message->n_fds;
	rdmad_clear_fd(&f->kept);
	if (message->n_fds)
		f->kept = rdmad_steal_fd(&message->fds[0]);
	rdmad_loop_stop(f->loop);
}

static void on_gone(RdmadMessagePeer *peer, gpointer data)
{
	Fixture *f = data;

	g_assert_true(peer == f->peer);
	f->peer = NULL;
	f->gone++;
	rdmad_loop_stop(f->loop);
}

static const RdmadMessageOps ops = { on_message, on_gone };

static const RdmadMessageLimits limits = { .size_max = 1000, .fds_max = 3, .peers_max = 2 };

static void serve(Fixture *f, const RdmadMessageLimits *with)
{
	g_autoptr(GError) error = NULL;

	f->server = rdmad_message_server_new(f->loop, SOME_MODULE, f->path, with, &ops, f, &error);
	g_assert_no_error(error);
}

/* Returns a blocking socket, as clients use. */
static int client_open(Fixture *f)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	g_assert_cmpint(rdmad_unix_connect_fd(fd, f->path), ==, 0);
	return fd;
}

static void setup(Fixture *f, gconstpointer data)
{
	f->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
	f->path = g_build_filename(f->directory, "s", NULL);
	f->client = f->kept = -1;
	f->descriptors = count_descriptors();
	f->loop = rdmad_loop_new();
	serve(f, &limits);
	f->client = client_open(f);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_message_server_free(f->server);
	g_assert_cmpuint(rdmad_loop_owned(f->loop, SOME_MODULE), ==, 0);
	rdmad_loop_free(f->loop);
	rdmad_clear_fd(&f->client);
	rdmad_clear_fd(&f->kept);
	g_assert_cmpuint(count_descriptors(), ==, f->descriptors);
	g_assert_cmpint(g_rmdir(f->directory), ==, 0);
	g_free(f->directory);
	g_free(f->path);
	g_free(f->text);
}

static void client_send(Fixture *f, const char *text, const int *fds, guint n_fds)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_message_send(f->client, text, strlen(text), fds, n_fds, &error));
	g_assert_no_error(error);
}

/* Turns the loop until the server has closed the client's connection. */
static void expect_closed(Fixture *f)
{
	g_autoptr(GError) error = NULL;
	char byte;

	while (recv(f->client, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		rdmad_loop_turn(f->loop);
	g_assert_null(rdmad_message_receive(f->client, &limits, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

static void test_a_message_comes_with_its_descriptor_and_is_answered(Fixture *f, gconstpointer data)
{
	rdmad_autofd int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	g_autoptr(RdmadMessage) answer = NULL;
	struct stat sent, got;

	client_send(f, "hello", &file, 1);
	rdmad_loop_run(f->loop);
	g_assert_cmpstr(f->text, ==, "hello");
	g_assert_cmpuint(f->n_fds, ==, 1);
	g_assert_cmpint(fcntl(f->kept, F_GETFD), ==, FD_CLOEXEC);
	g_assert_cmpint(fstat(file, &sent), ==, 0);
	g_assert_cmpint(fstat(f->kept, &got), ==, 0);
	g_assert_cmpuint(sent.st_ino, ==, got.st_ino);
	g_assert_true(rdmad_message_peer_send(f->peer, "you too", 7, &f->kept, 1, NULL));
	answer = rdmad_message_receive(f->client, &limits, NULL);
	g_assert_cmpstr((const char *)answer->bytes, ==, "you too");
	g_assert_cmpuint(answer->n_fds, ==, 1);
}

static void test_descriptors_that_nobody_takes_are_closed(Fixture *f, gconstpointer data)
{
	const int fds[] = { 0, 1, 2 };
	guint before;

	client_send(f, "first", fds, 1);
	rdmad_loop_run(f->loop);
	g_assert_true(rdmad_message_peer_send(f->peer, "x", 1, NULL, 0, NULL));
	rdmad_clear_fd(&f->kept);
	before = count_descriptors();
	client_send(f, "second", fds, 3);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->n_fds, ==, 3);
	rdmad_clear_fd(&f->kept);
	g_assert_cmpuint(count_descriptors(), ==, before);
}

/* Sends messages that rdmad_message_send() rejects. */
static void raw_send(int fd, gsize size, guint n_fds)
{
	g_autofree char *bytes = g_malloc0(size + 1);
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(250 * sizeof(int))];
	} control = { { 0 } };
	struct iovec part = { bytes, size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		for (guint i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(int));
	}
	g_assert_cmpint(sendmsg(fd, &header, MSG_NOSIGNAL), ==, size);
}

static void test_messages_beyond_a_limit_end_the_connection(Fixture *f, gconstpointer data)
{
	static const struct {
		gsize size;
		guint n_fds;
	} cases[] = {
		{ 1001, 0 },
		{ 100000, 0 },
		{ 1001, 1 },
		/* One more than the limit fits into the padding of the control data. */
		{ 1, 4 },
		{ 1, 16 },
		{ 1, 17 },
		{ 1, 250 },
		{ 100000, 250 },
		{ 0, 1 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		rdmad_clear_fd(&f->client);
		f->client = client_open(f);
		raw_send(f->client, cases[i].size, cases[i].n_fds);
		expect_closed(f);
		g_assert_cmpuint(f->messages, ==, 0);
		g_assert_cmpuint(f->gone, ==, 0);
	}
}

static void test_a_message_of_the_largest_size_passes(Fixture *f, gconstpointer data)
{
	raw_send(f->client, 1000, 3);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->size, ==, 1000);
	g_assert_cmpuint(f->n_fds, ==, 3);
}

static void test_a_socket_holds_the_largest_message_of_all(Fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(RDMAD_MESSAGE_SIZE_MAX, 'b');
	const RdmadMessageLimits any = { .fds_max = 1 };
	g_autoptr(RdmadMessage) message = NULL;
	g_autoptr(GError) error = NULL;
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
	g_assert_true(
		rdmad_message_send(ends[0], big, RDMAD_MESSAGE_SIZE_MAX, &ends[0], 1, &error));
	message = rdmad_message_receive(ends[1], &any, &error);
	g_assert_cmpuint(message->size, ==, RDMAD_MESSAGE_SIZE_MAX);
	g_assert_false(
		rdmad_message_send(ends[0], big, RDMAD_MESSAGE_SIZE_MAX + 1, NULL, 0, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	close(ends[0]);
	close(ends[1]);
}

static void test_who_hangs_up_is_noticed_before_the_answer(Fixture *f, gconstpointer data)
{
	client_send(f, "x", NULL, 0);
	rdmad_loop_run(f->loop);
	rdmad_clear_fd(&f->client);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->gone, ==, 1);
}

static void test_an_answer_without_a_peer_is_an_error(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	client_send(f, "x", NULL, 0);
	rdmad_loop_run(f->loop);
	rdmad_clear_fd(&f->client);
	g_assert_false(rdmad_message_peer_send(f->peer, "y", 1, NULL, 0, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	rdmad_message_peer_close(f->peer);
}

static void test_who_does_not_wait_for_the_answer_is_cut(Fixture *f, gconstpointer data)
{
	client_send(f, "one", NULL, 0);
	client_send(f, "two", NULL, 0);
	rdmad_loop_run(f->loop);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->messages, ==, 1);
	g_assert_cmpuint(f->gone, ==, 1);
	expect_closed(f);
}

static void test_one_connection_too_many_is_closed(Fixture *f, gconstpointer data)
{
	rdmad_autofd int second G_GNUC_UNUSED = client_open(f);
	rdmad_autofd int third = client_open(f);
	g_autoptr(GError) error = NULL;

	while (!g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE)) {
		char byte;

		rdmad_loop_turn(f->loop);
		if (recv(third, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0)
			g_assert_null(rdmad_message_receive(third, &limits, &error));
	}
	client_send(f, "still here", NULL, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpstr(f->text, ==, "still here");
}

static void test_who_says_nothing_in_time_is_cut(Fixture *f, gconstpointer data)
{
	const RdmadMessageLimits hasty = { .size_max = 1000, .deadline_ms = 50 };

	rdmad_message_server_free(f->server);
	serve(f, &hasty);
	rdmad_clear_fd(&f->client);
	f->client = client_open(f);
	expect_closed(f);
	g_assert_cmpuint(f->gone, ==, 0);
	rdmad_clear_fd(&f->client);
	f->client = client_open(f);
	client_send(f, "x", NULL, 0);
	rdmad_loop_run(f->loop);
	/* The deadline does not run while the peer waits for a response. */
	g_usleep(100000);
	g_assert_true(rdmad_message_peer_send(f->peer, "y", 1, NULL, 0, NULL));
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->gone, ==, 1);
}

static void test_a_socketpair_has_peers_without_a_server(Fixture *f, gconstpointer data)
{
	const RdmadMessageLimits two = { .unanswered_max = 2 };
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
	g_assert_nonnull(
		rdmad_message_peer_new(f->loop, SOME_MODULE, ends[0], &two, &ops, f, NULL));
	g_assert_true(rdmad_message_send(ends[1], "a", 1, NULL, 0, NULL));
	g_assert_true(rdmad_message_send(ends[1], "b", 1, NULL, 0, NULL));
	rdmad_loop_run(f->loop);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->messages, ==, 2);
	g_assert_cmpuint(f->gone, ==, 0);
	/* The server of the fixture and this one. */
	g_assert_cmpuint(rdmad_loop_reap(f->loop, SOME_MODULE), ==, 2);
	f->server = NULL;
	close(ends[1]);
}

/* The first retry comes a second after the failed accept(). */
static void test_a_server_accepts_again_after_a_refused_retry(Fixture *f, gconstpointer data)
{
	const gint64 retried_us = g_get_monotonic_time() + 1500 * G_TIME_SPAN_MILLISECOND;
	const rlim_t before = limit_descriptors(3);

	rdmad_loop_turn(f->loop);
	limit_descriptors(before);
	refuse.ctl = ENOMEM;
	while (g_get_monotonic_time() < retried_us) {
		rdmad_loop_turn(f->loop);
		g_usleep(10000);
	}
	refuse.ctl = 0;
	client_send(f, "hello", NULL, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpstr(f->text, ==, "hello");
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/message-socket/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_message_comes_with_its_descriptor_and_is_answered),
	TEST(descriptors_that_nobody_takes_are_closed),
	TEST(messages_beyond_a_limit_end_the_connection),
	TEST(a_message_of_the_largest_size_passes),
	TEST(a_socket_holds_the_largest_message_of_all),
	TEST(who_hangs_up_is_noticed_before_the_answer),
	TEST(an_answer_without_a_peer_is_an_error),
	TEST(who_does_not_wait_for_the_answer_is_cut),
	TEST(one_connection_too_many_is_closed),
	TEST(who_says_nothing_in_time_is_cut),
	TEST(a_server_accepts_again_after_a_refused_retry),
	TEST(a_socketpair_has_peers_without_a_server),
	{ 0 },
};
