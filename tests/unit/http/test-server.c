/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/loop.h"
#include "http/http.h"
#include "service/stats-private.h"

#include "../stats-text.h"
#include "../refusing-epoll.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE    ((RdmadModule *)0x10)
#define GET(path)      "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define GET_LAST(path) "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

typedef struct {
	RdmadLoop *loop;
	RdmadHttp *http;
	char *dir, *path;
	RdmadHttpRequest *kept;
	guint gone, answered;
	RdmadEvent *tick;
	RdmadStats *stats;
} Fixture;

static void tick(gpointer data)
{
	Fixture *f = data;

	rdmad_event_arm(f->tick, 5);
}

static void setup(Fixture *f, gconstpointer data)
{
	static const RdmadHttpLimits limits = { .max_connections = 4, .max_body = 100 };
	g_autoptr(GError) error = NULL;

	f->stats = rdmad_stats_new();
	f->loop = rdmad_loop_new();
	rdmad_loop_set_stats(f->loop, f->stats);
	f->http = rdmad_http_new(f->loop, &limits, &error);
	g_assert_no_error(error);
	f->dir = g_dir_make_tmp("test-http-XXXXXX", NULL);
	f->path = g_build_filename(f->dir, "sock", NULL);
	g_assert_true(rdmad_http_listen_control(f->http, f->path, &error));
	g_assert_no_error(error);
	f->tick = rdmad_loop_add_timer(f->loop, NULL, tick, f);
	rdmad_event_arm(f->tick, 1);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_http_free(f->http);
	rdmad_event_free(f->tick);
	rdmad_loop_free(f->loop);
	rdmad_stats_free(f->stats);
	g_assert_false(g_file_test(f->path, G_FILE_TEST_EXISTS));
	g_rmdir(f->dir);
	g_free(f->path);
	g_free(f->dir);
}

static int connect_to(Fixture *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	g_strlcpy(addr.sun_path, f->path, sizeof(addr.sun_path));
	g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
	return fd;
}

static void turn(Fixture *f, guint n)
{
	while (n--)
		rdmad_loop_turn(f->loop);
}

/* Reads until the server closes the connection. */
static char *read_all(Fixture *f, int fd)
{
	GString *all = g_string_new(NULL);

	for (guint i = 0; i < 1000; i++) {
		char buffer[4096];
		const gssize n = recv(fd, buffer, sizeof(buffer), 0);

		if (n == 0)
			return g_string_free(all, FALSE);
		if (n > 0)
			g_string_append_len(all, buffer, n);
		else
			turn(f, 1);
	}
	g_test_message("so far: %s", all->str);
	g_assert_not_reached();
}

static char *ask(Fixture *f, const char *text)
{
	rdmad_autofd int fd = connect_to(f);

	g_assert_cmpint(send(fd, text, strlen(text), 0), ==, strlen(text));
	return read_all(f, fd);
}

static void answer_hello(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_add_header(request, "X-Test", "a\r\nX-Smuggled: b");
	rdmad_http_reply(request, 200, "text/plain", "hello", 5);
}

static void answer_counted(RdmadHttpRequest *request, gpointer data)
{
	((Fixture *)data)->answered++;
	rdmad_http_reply(request, 200, NULL, "", 0);
}

static void answer_body(RdmadHttpRequest *request, gpointer data)
{
	gsize size;
	const guint8 *body = rdmad_http_request_body(request, &size);

	rdmad_http_reply(request, 200, "text/plain", body, size);
}

static void note_gone(gpointer data)
{
	Fixture *f = data;

	f->gone++;
	f->kept = NULL;
}

static void keep(RdmadHttpRequest *request, gpointer data)
{
	Fixture *f = data;

	f->kept = request;
	rdmad_http_request_on_gone(request, note_gone, f);
}

static void route(Fixture *f, const char *method, const char *path, RdmadHttpHandler handler)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_http_route(f->http, SOME_MODULE, method, path, RDMAD_HTTP_LOCAL,
				       handler, f, &error));
	g_assert_no_error(error);
}

#define assert_contains(text, part)                                                                \
	G_STMT_START                                                                               \
	{                                                                                          \
		if (!strstr(text, part))                                                           \
			g_test_message("%s", text);                                                \
		g_assert_nonnull(strstr(text, part));                                              \
	}                                                                                          \
	G_STMT_END

static void test_a_route_answers_and_its_headers_stay_one_line(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL;

	route(f, "GET", "/hello", answer_hello);
	answer = ask(f, GET_LAST("/hello"));
	g_assert_true(g_str_has_prefix(answer, "HTTP/1.1 200 OK\r\n"));
	assert_contains(answer, "X-Test: a  X-Smuggled: b\r\n");
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\nhello"));
}

static void test_head_has_the_length_but_no_body(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL;

	route(f, "GET", "/hello", answer_hello);
	answer = ask(f, "HEAD /hello HTTP/1.0\r\n\r\n");
	assert_contains(answer, "Content-Length: 5\r\n");
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\n"));
}

static void answer_tail(RdmadHttpRequest *request, gpointer data)
{
	const char *tail = rdmad_http_request_tail(request) ?: "(none)";

	rdmad_http_reply(request, 200, "text/plain", tail, strlen(tail));
}

static void test_a_route_with_an_asterisk_takes_what_is_below_it(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *request, *answer;
	} cases[] = {
		{ GET_LAST("/things/a"), "\r\n\r\na" },
		{ GET_LAST("/things/a%2Fb%20c?x=1"), "\r\n\r\na/b c" },
		{ GET_LAST("/things/all"), "\r\n\r\n(none)" },
		{ GET_LAST("/things/"), "HTTP/1.1 404 " },
		{ GET_LAST("/things"), "HTTP/1.1 404 " },
		{ "PUT /things/a HTTP/1.0\r\n\r\n", "Allow: GET, HEAD, DELETE\r\n" },
		{ "DELETE /things/a HTTP/1.0\r\n\r\n", "\r\n\r\na" },
	};

	route(f, "GET", "/things/*", answer_tail);
	route(f, "DELETE", "/things/*", answer_tail);
	route(f, "GET", "/things/all", answer_tail);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer = ask(f, cases[i].request);

		assert_contains(answer, cases[i].answer);
	}
}

static void test_other_paths_are_404_and_other_methods_405(Fixture *f, gconstpointer data)
{
	g_autofree char *nothing = NULL, *method = NULL;

	route(f, "GET", "/hello", answer_hello);
	route(f, "POST", "/hello", answer_body);
	nothing = ask(f, GET_LAST("/hello/"));
	assert_contains(nothing, "HTTP/1.1 404 ");
	assert_contains(nothing, "{\"error\":\"there is nothing at /hello/\"}");
	method = ask(f, "PUT /hello HTTP/1.0\r\n\r\n");
	assert_contains(method, "HTTP/1.1 405 ");
	assert_contains(method, "Allow: GET, HEAD, POST\r\n");
}

static void test_a_path_is_routed_once(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	route(f, "GET", "/hello", answer_hello);
	g_assert_false(rdmad_http_route(f->http, NULL, "GET", "/hello", RDMAD_HTTP_LOCAL,
					answer_hello, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	rdmad_http_unroute(f->http, "GET", "/hello");
	route(f, "GET", "/hello", answer_hello);
}

static void test_a_body_comes_whole_or_is_refused(Fixture *f, gconstpointer data)
{
	g_autofree char *good = NULL, *large = NULL;

	route(f, "POST", "/body", answer_body);
	good = ask(f, "POST /body HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd");
	g_assert_true(g_str_has_suffix(good, "\r\n\r\nabcd"));
	large = ask(f, "POST /body HTTP/1.0\r\nContent-Length: 101\r\n\r\nabcd");
	assert_contains(large, "HTTP/1.1 413 ");
}

static void test_pipelined_requests_are_answered_in_order(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL;
	char *first, *second;

	route(f, "GET", "/hello", answer_hello);
	route(f, "POST", "/body", answer_body);
	answer = ask(f, GET("/hello") "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"
				      "xyz" GET_LAST("/none"));
	first = strstr(answer, "hello");
	second = strstr(answer, "\r\n\r\nxyzHTTP/1.1 404 ");
	g_assert_nonnull(first);
	g_assert_nonnull(second);
	g_assert_true(first < second);
}

/* One read may contain a thousand small requests, and each handler may take a while. */
static void test_pipelined_requests_take_a_turn_of_the_loop_each(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = connect_to(f);
	guint before = 0;

	route(f, "GET", "/counted", answer_counted);
	for (guint i = 0; i < 20; i++)
		g_assert_cmpint(send(fd, GET("/counted"), strlen(GET("/counted")), 0), >, 0);
	for (guint i = 0; i < 1000 && f->answered < 20; i++) {
		turn(f, 1);
		g_assert_cmpuint(f->answered, <=, before + 1);
		before = f->answered;
	}
	g_assert_cmpuint(f->answered, ==, 20);
}

static void test_an_answer_may_come_later(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = connect_to(f);
	g_autofree char *answer = NULL;

	route(f, "GET", "/later", keep);
	g_assert_cmpint(send(fd, GET_LAST("/later"), strlen(GET_LAST("/later")), 0), >, 0);
	while (!f->kept)
		turn(f, 1);
	rdmad_http_reply_json(f->kept, json_pack("{s:i}", "a", 1));
	answer = read_all(f, fd);
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\n{\"a\":1}"));
	g_assert_cmpuint(f->gone, ==, 0);
}

static void test_a_client_that_leaves_before_the_answer_is_reported_once(Fixture *f,
									 gconstpointer data)
{
	const int fd = connect_to(f);

	route(f, "GET", "/later", keep);
	g_assert_cmpint(send(fd, GET("/later"), strlen(GET("/later")), 0), >, 0);
	while (!f->kept)
		turn(f, 1);
	close(fd);
	while (!f->gone)
		turn(f, 1);
	turn(f, 3);
	g_assert_cmpuint(f->gone, ==, 1);
}

static void test_requests_of_a_module_that_ended_get_503(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = connect_to(f);
	g_autofree char *answer = NULL;

	route(f, "GET", "/later", keep);
	g_assert_cmpint(send(fd, GET_LAST("/later"), strlen(GET_LAST("/later")), 0), >, 0);
	while (!f->kept)
		turn(f, 1);
	g_assert_cmpuint(rdmad_http_reap(f->http, SOME_MODULE), ==, 2);
	g_assert_cmpuint(f->gone, ==, 0);
	answer = read_all(f, fd);
	assert_contains(answer, "HTTP/1.1 503 ");
}

static void test_the_oldest_silent_client_makes_room_for_a_new_one(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL;
	int silent[4];
	char byte;

	route(f, "GET", "/hello", answer_hello);
	for (int i = 0; i < 4; i++)
		silent[i] = connect_to(f);
	turn(f, 3);
	answer = ask(f, GET_LAST("/hello"));
	assert_contains(answer, "hello");
	g_assert_cmpint(recv(silent[0], &byte, 1, 0), ==, 0);
	g_assert_cmpint(recv(silent[1], &byte, 1, 0), ==, -1);
	for (int i = 0; i < 4; i++)
		close(silent[i]);
}

static void test_a_busy_server_returns_503_and_keeps_its_work(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL;
	int busy[4];

	route(f, "GET", "/later", keep);
	for (int i = 0; i < 4; i++) {
		f->kept = NULL;
		busy[i] = connect_to(f);
		g_assert_cmpint(send(busy[i], GET("/later"), strlen(GET("/later")), 0), >, 0);
		while (!f->kept)
			turn(f, 1);
	}
	answer = ask(f, GET_LAST("/later"));
	assert_contains(answer, "HTTP/1.1 503 ");
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\n{\"error\":\"too many connections\"}\n"));
	g_assert_cmpuint(f->gone, ==, 0);
	for (int i = 0; i < 4; i++)
		close(busy[i]);
}

static void test_the_control_socket_is_ours_alone(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) busy = NULL, other = NULL, longer = NULL;
	g_autofree char *file = g_build_filename(f->dir, "file", NULL);
	g_autofree char *deep = g_strnfill(120, 'x');
	struct stat st;

	g_assert_cmpint(stat(f->path, &st), ==, 0);
	g_assert_cmpint(st.st_mode & 07777, ==, 0600);
	g_assert_false(rdmad_http_listen_control(f->http, f->path, &busy));
	g_assert_error(busy, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_true(g_file_set_contents(file, "", 0, NULL));
	g_assert_false(rdmad_http_listen_control(f->http, file, &other));
	g_assert_error(other, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_false(rdmad_http_listen_control(f->http, deep, &longer));
	g_assert_error(longer, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_unlink(file);
}

static void test_a_socket_left_by_a_crash_is_replaced(Fixture *f, gconstpointer data)
{
	g_autofree char *stale = g_build_filename(f->dir, "stale", NULL);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	g_autoptr(GError) error = NULL;

	g_strlcpy(addr.sun_path, stale, sizeof(addr.sun_path));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
	close(fd);
	g_assert_true(rdmad_http_listen_control(f->http, stale, &error));
	g_assert_no_error(error);
}

static void expect_counted(Fixture *f, const char *requests, guint connections)
{
	g_autofree char *gauge = g_strdup_printf("%s %u;", f->path, connections);
	g_autoptr(GString) text = g_string_new(requests);

	g_string_replace(text, "@", f->path, 0);
	stats_expect(f->stats, "rdmad_http_requests", text->str);
	stats_expect(f->stats, "rdmad_http_connections", gauge);
}

static void test_requests_and_connections_are_counted_by_listener(Fixture *f, gconstpointer data)
{
	rdmad_autofd int open G_GNUC_UNUSED = connect_to(f);

	route(f, "GET", "/hello", answer_hello);
	g_free(ask(f, GET_LAST("/hello")));
	g_free(ask(f, GET_LAST("/none")));
	g_free(ask(f, "nonsense\r\n\r\n"));
	g_free(ask(f, GET("/hello") GET_LAST("/hello")));
	turn(f, 5);
	expect_counted(f, "@,200 3;@,404 1;@,400 1;", 1);
	rdmad_http_unlisten(f->http, f->path);
	stats_expect(f->stats, "rdmad_http_connections", "");
}

static void test_a_connection_that_epoll_refuses_is_closed(Fixture *f, gconstpointer data)
{
	g_autofree char *answer = NULL, *nothing = NULL;
	rdmad_autofd int fd = -1;

	route(f, "GET", "/hello", answer_hello);
	fd = connect_to(f);
	refuse.ctl = ENOMEM;
	nothing = read_all(f, fd);
	g_assert_cmpstr(nothing, ==, "");
	refuse.ctl = 0;
	answer = ask(f, GET_LAST("/hello"));
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\nhello"));
}

/* More than what is sent in one turn, so that the connection waits until it may send. */
static void test_an_answer_leaves_before_epoll_refuses_the_next_request(Fixture *f,
									gconstpointer data)
{
	g_autofree char *long_text = g_strnfill(128 << 10, 'x');
	g_autofree char *answer = NULL;
	rdmad_autofd int fd = connect_to(f);

	route(f, "GET", "/later", keep);
	g_assert_cmpint(send(fd, GET("/later"), strlen(GET("/later")), 0), >, 0);
	while (!f->kept)
		turn(f, 1);
	rdmad_http_reply(f->kept, 200, "text/plain", long_text, strlen(long_text));
	refuse.ctl = ENOSPC;
	answer = read_all(f, fd);
	refuse.ctl = 0;
	g_assert_true(g_str_has_suffix(answer, long_text));
}

static void test_an_answer_that_is_sent_at_once_needs_no_epoll(Fixture *f, gconstpointer data)
{
	g_autofree char *answers = NULL;
	rdmad_autofd int fd = connect_to(f);

	route(f, "GET", "/hello", answer_hello);
	turn(f, 5);
	refuse.ctl = ENOSPC;
	g_assert_cmpint(send(fd, GET("/hello"), strlen(GET("/hello")), 0), >, 0);
	turn(f, 5);
	g_assert_cmpint(send(fd, GET_LAST("/hello"), strlen(GET_LAST("/hello")), 0), >, 0);
	answers = read_all(f, fd);
	refuse.ctl = 0;
	g_assert_true(g_str_has_suffix(answers, "\r\n\r\nhello"));
	g_assert_nonnull(strstr(answers, "\r\n\r\nhelloHTTP/1.1 200"));
}

static void test_a_listener_that_epoll_refuses_is_an_error(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_build_filename(f->dir, "other", NULL);

	refuse.ctl = ENOMEM;
	g_assert_false(rdmad_http_listen_control(f->http, path, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	refuse.ctl = 0;
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_assert_cmpuint(rdmad_http_listener_count(f->http), ==, 1);
}

#define TEST(name) UNIT_FIXTURE_TEST("/http/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_route_answers_and_its_headers_stay_one_line),
	TEST(head_has_the_length_but_no_body),
	TEST(a_route_with_an_asterisk_takes_what_is_below_it),
	TEST(other_paths_are_404_and_other_methods_405),
	TEST(a_path_is_routed_once),
	TEST(a_body_comes_whole_or_is_refused),
	TEST(pipelined_requests_are_answered_in_order),
	TEST(pipelined_requests_take_a_turn_of_the_loop_each),
	TEST(an_answer_may_come_later),
	TEST(a_client_that_leaves_before_the_answer_is_reported_once),
	TEST(requests_of_a_module_that_ended_get_503),
	TEST(the_oldest_silent_client_makes_room_for_a_new_one),
	TEST(a_busy_server_returns_503_and_keeps_its_work),
	TEST(the_control_socket_is_ours_alone),
	TEST(a_socket_left_by_a_crash_is_replaced),
	TEST(a_connection_that_epoll_refuses_is_closed),
	TEST(an_answer_leaves_before_epoll_refuses_the_next_request),
	TEST(an_answer_that_is_sent_at_once_needs_no_epoll),
	TEST(a_listener_that_epoll_refuses_is_an_error),
	TEST(requests_and_connections_are_counted_by_listener),
	{ 0 },
};
