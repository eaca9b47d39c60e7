/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/client.h"
#include "../scratch.h"
#include "../support/unit.h"

#define OK "HTTP/1.1 200 OK\r\n"

static json_t *parse(const char *text, GError **error)
{
	return rdmad_client_parse(text, strlen(text), NULL, error);
}

static void test_an_answer_is_its_body(void)
{
	g_autoptr(GError) error = NULL;
	json_t *value = parse(OK "A: b\r\n\r\n{\"a\":[1]}\n", &error);

	g_assert_no_error(error);
	g_assert_cmpint(json_array_size(json_object_get(value, "a")), ==, 1);
	json_decref(value);
}

static void test_a_refusal_has_a_reason(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(
		parse("HTTP/1.1 503 x\r\n\r\n{\"error\":\"kubelet does not answer\"}", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	/* The command writes "rdmad: " before it. */
	g_assert_cmpstr(error->message, ==, "kubelet does not answer");
}

static void test_a_refusal_has_a_body(void)
{
	static const struct {
		const char *status;
		gboolean given;
	} table[] = { { "409 Conflict", TRUE }, { "404 Not Found", FALSE }, { "500 x", FALSE } };

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *text = g_strdup_printf(
			"HTTP/1.1 %s\r\n\r\n{\"error\": \"no\", \"text\": \"unset X\"}",
			table[i].status);
		g_autoptr(GError) error = NULL;
		json_t *refusal = NULL;

		g_assert_null(rdmad_client_parse(text, strlen(text), &refusal, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
		g_assert_cmpstr(json_string_value(json_object_get(refusal, "text")), ==,
				table[i].given ? "unset X" : NULL);
		json_decref(refusal);
	}
}

static void test_bad_answers_are_errors(void)
{
	static const char *const table[] = {
		"",
		"\r\n\r\n",
		"HTTP/1.1 2",
		"HTTP/1.1 200 OK\r\n",
		"HTTP/1.0 200 OK\r\n\r\n{}",
		OK "\r\n",
		OK "\r\n{",
		OK "\r\n{}x",
		"HTTP/1.1 404 x\r\n\r\n[]",
		"HTTP/1.1 404 x\r\n\r\n{\"error\":1}",
		"HTTP/1.1 x\r\n\r\n{}",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(parse(table[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	}
}

static void test_without_a_daemon_it_says_so(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(
		rdmad_client_call("/nonexistent/rdmad.sock", "GET", "/", NULL, 1, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
	g_assert_cmpstr(
		error->message, ==,
		"rdmad is not running: no socket at /nonexistent/rdmad.sock; start it, or name "
		"its socket with --socket");
}

/* Reads a request, and ends as rdmad does. */
static gpointer end_without_answer(gpointer data)
{
	rdmad_autofd int fd = accept(GPOINTER_TO_INT(data), NULL, NULL);
	char request[1024];

	g_assert_cmpint(read(fd, request, sizeof(request)), >, 0);
	return NULL;
}

static void test_an_end_without_an_answer_has_a_message(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *path = g_build_filename(dir, "rdmad.sock", NULL);
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	GThread *server;

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	g_assert_cmpint(listen(fd, 1), ==, 0);
	server = g_thread_new("server", end_without_answer, GINT_TO_POINTER(fd));
	g_assert_null(rdmad_client_call(path, "GET", "/", NULL, 60, NULL, &error));
	g_thread_join(server);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_cmpstr(error->message, ==, "rdmad has ended or closed the connection");
}

#define TEST(name) UNIT_TEST("/client/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(an_answer_is_its_body),
	TEST(a_refusal_has_a_reason),
	TEST(a_refusal_has_a_body),
	TEST(bad_answers_are_errors),
	TEST(without_a_daemon_it_says_so),
	TEST(an_end_without_an_answer_has_a_message),
	{ 0 },
};
