/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of two addresses at one public listener: many at 127.0.0.2, and one at 127.0.0.3 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "http/http.h"
#include "http/turns.h"

#include "../support/unit.h"

#define CROWD	     "127.0.0.2"
#define OTHER	     "127.0.0.3"
#define CROWD_SIZE   16
#define PLACES	     (4 * CROWD_SIZE) /* an address gets a quarter */
#define REQUEST(who) "GET /answer?who=" who " HTTP/1.1\r\nHost: localhost\r\n\r\n"

typedef struct {
	RdmadLoop *loop;
	RdmadHttp *http;
	RdmadEvent *tick;
	int keeper; /* bound to the port, so that the kernel gives it to nobody else */
	guint16 port;
	int crowd[CROWD_SIZE], other;
	guint of_crowd, of_other; /* numbers of handled requests */
	guint before_other;	  /* of the crowd */
	GPtrArray *kept;
} Fixture;

static void count(Fixture *f, RdmadHttpRequest *request)
{
	if (g_str_equal(rdmad_http_request_query(request, "who"), "crowd")) {
		f->of_crowd++;
		return;
	}
	f->of_other++;
	f->before_other = f->of_crowd;
}

static void answer(RdmadHttpRequest *request, gpointer data)
{
	count(data, request);
	rdmad_http_reply(request, 200, NULL, "", 0);
}

static void keep(RdmadHttpRequest *request, gpointer data)
{
	Fixture *f = data;

	count(f, request);
	g_ptr_array_add(f->kept, request);
}

static void park(RdmadHttpRequest *request, gpointer data)
{
	count(data, request);
	g_assert_true(rdmad_http_request_park(request));
}

static void tick(gpointer data)
{
	const Fixture *f = data;

	rdmad_event_arm(f->tick, 5);
}

/* Public clients are served when nothing else is due, so the loop must not be busy. */
static void turn(Fixture *f, guint n)
{
	while (n--)
		rdmad_loop_turn(f->loop);
}

static void keep_port(Fixture *f)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	const int on = 1;

	f->keeper = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(setsockopt(f->keeper, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), ==, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	g_assert_cmpint(bind(f->keeper, (struct sockaddr *)&address, size), ==, 0);
	g_assert_cmpint(getsockname(f->keeper, (struct sockaddr *)&address, &size), ==, 0);
	f->port = ntohs(address.sin_port);
}

static int connect_from(const Fixture *f, const char *source)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(f->port) };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(inet_pton(AF_INET, source, &from.sin_addr), ==, 1);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	g_assert_cmpint(bind(fd, (struct sockaddr *)&from, sizeof(from)), ==, 0);
	g_assert_cmpint(connect(fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
	return fd;
}

static void setup(Fixture *f, gconstpointer data)
{
	static const RdmadHttpLimits limits = { .max_connections = PLACES };
	g_autofree char *address = NULL;
	g_autoptr(GError) error = NULL;

	f->kept = g_ptr_array_new();
	f->loop = rdmad_loop_new();
	f->tick = rdmad_loop_add_timer(f->loop, NULL, tick, f);
	rdmad_event_arm(f->tick, 5);
	f->http = rdmad_http_new(f->loop, &limits, &error);
	keep_port(f);
	address = g_strdup_printf("127.0.0.1:%u", f->port);
	rdmad_http_listen(f->http, NULL, address, NULL, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < CROWD_SIZE; i++)
		f->crowd[i] = connect_from(f, CROWD);
	f->other = connect_from(f, OTHER);
	turn(f, 20); /* accepts the connections */
}

static void teardown(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < CROWD_SIZE; i++)
		close(f->crowd[i]);
	close(f->other);
	close(f->keeper);
	rdmad_http_free(f->http);
	rdmad_event_free(f->tick);
	rdmad_loop_free(f->loop);
	g_ptr_array_unref(f->kept);
}

/* Sends all requests at once, those of the crowd first. */
static void ask(Fixture *f, RdmadHttpHandler handler)
{
	g_autoptr(GError) error = NULL;

	rdmad_http_route(f->http, NULL, "GET", "/answer", RDMAD_HTTP_PUBLIC, handler, f, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < CROWD_SIZE; i++)
		g_assert_cmpint(send(f->crowd[i], REQUEST("crowd"), strlen(REQUEST("crowd")), 0), >,
				0);
	g_assert_cmpint(send(f->other, REQUEST("other"), strlen(REQUEST("other")), 0), >, 0);
}

static void run_until(Fixture *f, const guint *counter, guint wanted)
{
	while (*counter < wanted)
		turn(f, 1);
}

static void test_another_address_waits_for_one_answer(Fixture *f, gconstpointer data)
{
	ask(f, answer);
	run_until(f, &f->of_other, 1);
	g_assert_cmpuint(f->before_other, <=, 1);
	run_until(f, &f->of_crowd, CROWD_SIZE);
}

static void test_answers_under_way_are_bounded_for_each_address(Fixture *f, gconstpointer data)
{
	ask(f, keep);
	run_until(f, &f->of_other, 1);
	run_until(f, &f->of_crowd, HTTP_BUILDS_MAX);
	turn(f, 5 * CROWD_SIZE);
	g_assert_cmpuint(f->of_crowd, ==, HTTP_BUILDS_MAX);
	while (f->of_crowd < CROWD_SIZE) {
		rdmad_http_reply(g_ptr_array_steal_index(f->kept, 0), 200, NULL, "", 0);
		turn(f, 5);
		g_assert_cmpuint(f->kept->len, <=, HTTP_BUILDS_MAX + 1);
	}
}

static void test_requests_that_wait_for_events_have_no_turn(Fixture *f, gconstpointer data)
{
	ask(f, park);
	run_until(f, &f->of_crowd, CROWD_SIZE);
}

/* Of clients whose response is being built, and of clients that wait. */
static void test_clients_that_leave_give_their_turns_back(Fixture *f, gconstpointer data)
{
	ask(f, keep);
	run_until(f, &f->of_crowd, HTTP_BUILDS_MAX);
	for (guint i = 0; i < CROWD_SIZE - 1; i++)
		g_assert_cmpint(shutdown(f->crowd[i], SHUT_RDWR), ==, 0);
	run_until(f, &f->of_crowd, HTTP_BUILDS_MAX + 1);
	g_assert_cmpuint(f->of_other, ==, 1);
}

static void test_a_client_that_ends_its_input_while_it_waits_is_answered(Fixture *f,
									 gconstpointer data)
{
	ask(f, answer);
	for (guint i = 0; i < CROWD_SIZE; i++)
		g_assert_cmpint(shutdown(f->crowd[i], SHUT_WR), ==, 0);
	run_until(f, &f->of_crowd, CROWD_SIZE);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/http/turns/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(another_address_waits_for_one_answer),
	TEST(answers_under_way_are_bounded_for_each_address),
	TEST(requests_that_wait_for_events_have_no_turn),
	TEST(clients_that_leave_give_their_turns_back),
	TEST(a_client_that_ends_its_input_while_it_waits_is_answered),
	{ 0 },
};
