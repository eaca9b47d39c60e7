/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "http/head.h"
#include "../support/unit.h"

#define GET  "GET / HTTP/1.1\r\n"
#define HOST "Host: a\r\n"

static guint parse(RdmadHttpHead *head, const char *text)
{
	gsize scanned = 0;
	const gssize size = rdmad_http_head_find((const guint8 *)text, strlen(text), &scanned);

	*head = (RdmadHttpHead){ 0 };
	if (size <= 0)
		return size < 0 ? 400 : 0;
	return rdmad_http_head_parse(head, (const guint8 *)text, size);
}

static void test_a_request_is_taken_apart(void)
{
	RdmadHttpHead head;

	g_assert_cmpuint(parse(&head, "GET /a%20b?x=1%2B1&y=a+b&&z&x=2 HTTP/1.1\r\n" HOST
				      "X-One:  two words \t\r\nEmpty:\r\n\r\n"),
			 ==, 0);
	g_assert_cmpstr(head.method, ==, "GET");
	g_assert_cmpstr(head.path, ==, "/a b");
	g_assert_cmpstr(rdmad_http_head_param(&head, "x"), ==, "1+1");
	g_assert_cmpstr(rdmad_http_head_param(&head, "y"), ==, "a b");
	g_assert_cmpstr(rdmad_http_head_param(&head, "z"), ==, "");
	g_assert_null(rdmad_http_head_param(&head, "nothing"));
	g_assert_cmpstr(rdmad_http_head_field(&head, "x-one"), ==, "two words");
	g_assert_cmpstr(rdmad_http_head_field(&head, "Empty"), ==, "");
	g_assert_null(rdmad_http_head_field(&head, "X-Two"));
	g_assert_true(head.keep_alive);
	rdmad_http_head_clear(&head);
}

static void test_the_end_of_a_head_is_found_byte_by_byte(void)
{
	const char *text = GET HOST "\r\nbody";
	const gsize end = strlen(text) - 4;
	gsize scanned = 0;

	for (gsize n = 0; n < end; n++)
		g_assert_cmpint(rdmad_http_head_find((const guint8 *)text, n, &scanned), ==, 0);
	g_assert_cmpint(rdmad_http_head_find((const guint8 *)text, end + 4, &scanned), ==, end);
}

static void test_keep_alive_is_what_both_sides_want(void)
{
	static const struct {
		const char *text;
		gboolean keep_alive;
	} table[] = {
		{ GET HOST "\r\n", TRUE },
		{ GET HOST "Connection: Keep-Alive\r\n\r\n", TRUE },
		{ GET HOST "Connection: close\r\n\r\n", FALSE },
		{ GET HOST "Connection: upgrade\r\n\r\n", FALSE },
		{ "GET / HTTP/1.0\r\n\r\n", FALSE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		RdmadHttpHead head;

		g_assert_cmpuint(parse(&head, table[i].text), ==, 0);
		g_assert_cmpint(head.keep_alive, ==, table[i].keep_alive);
		rdmad_http_head_clear(&head);
	}
}

static void test_what_could_be_read_in_two_ways_is_refused(void)
{
	static const struct {
		const char *text;
		guint status;
	} table[] = {
		{ "\r\n\r\n", 400 },
		{ "GET\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", 505 },
		{ "GET / FTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/2.0\r\n" HOST "\r\n", 505 },
		{ "G T / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "G(T / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /#a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /\x80 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%00 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%4 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /?a=%00 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ GET "\r\n", 400 },
		{ GET HOST HOST "\r\n", 400 },
		{ GET HOST "No colon\r\n\r\n", 400 },
		{ GET HOST "Space : a\r\n\r\n", 400 },
		{ GET HOST " Folded: a\r\n\r\n", 400 },
		{ GET HOST "A: b\r\n c\r\n\r\n", 400 },
		{ GET HOST ": a\r\n\r\n", 400 },
		{ GET HOST "A: \x01\r\n\r\n", 400 },
		{ GET HOST "A: b\rC: d\r\n\r\n", 400 },
		{ GET HOST "A: b\nC: d\r\n\r\n", 400 },
		{ GET HOST "A: b\r\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\n\n", 400 },
		{ GET HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
		{ GET HOST "Content-Length: 1, 1\r\n\r\n", 400 },
		{ GET HOST "Content-Length: +1\r\n\r\n", 400 },
		{ GET HOST "Content-Length: -1\r\n\r\n", 400 },
		{ GET HOST "Content-Length: 0x1\r\n\r\n", 400 },
		{ GET HOST "Content-Length:\r\n\r\n", 400 },
		{ GET HOST "Content-Length: 18446744073709551617\r\n\r\n", 400 },
		{ GET HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ GET HOST "Transfer-Encoding: chunked\r\n\r\n", 501 },
		{ GET HOST "Transfer-Encoding: identity\r\n\r\n", 501 },
		{ GET HOST "Expect: 100-continue\r\n\r\n", 417 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		RdmadHttpHead head;
		const guint status = parse(&head, table[i].text);

		if (status != table[i].status)
			g_test_message("case %zu: %s", i, table[i].text);
		g_assert_cmpuint(status, ==, table[i].status);
		rdmad_http_head_clear(&head);
	}
}

static void test_a_nul_byte_ends_it_at_once(void)
{
	gsize scanned = 0;

	g_assert_cmpint(rdmad_http_head_find((const guint8 *)"GET\0", 4, &scanned), ==, -1);
}

static void test_fields_and_parameters_are_counted(void)
{
	g_autoptr(GString) fields = g_string_new(GET HOST);
	g_autoptr(GString) params = g_string_new("GET /?");
	RdmadHttpHead head;

	for (guint i = 0; i < RDMAD_HTTP_MAX_FIELDS; i++)
		g_string_append_printf(fields, "A%u: b\r\n", i);
	g_string_append(fields, "\r\n");
	g_assert_cmpuint(parse(&head, fields->str), ==, 431);
	rdmad_http_head_clear(&head);

	for (guint i = 0; i <= RDMAD_HTTP_MAX_FIELDS; i++)
		g_string_append_printf(params, "a%u=b&", i);
	g_string_append(params, " HTTP/1.1\r\n" HOST "\r\n");
	g_assert_cmpuint(parse(&head, params->str), ==, 400);
	rdmad_http_head_clear(&head);
}

#define TEST(name) UNIT_TEST("/http-head/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_request_is_taken_apart),
	TEST(the_end_of_a_head_is_found_byte_by_byte),
	TEST(keep_alive_is_what_both_sides_want),
	TEST(what_could_be_read_in_two_ways_is_refused),
	TEST(a_nul_byte_ends_it_at_once),
	TEST(fields_and_parameters_are_counted),
	{ 0 },
};
