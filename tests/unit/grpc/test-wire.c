/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "grpc/status.h"
#include "grpc/wire.h"
#include "../support/unit.h"

static void test_a_status_text_is_escaped_as_grpc_wants_it(void)
{
	static const struct {
		const char *text, *encoded;
	} cases[] = {
		{ "", "" },	     { "plain ~ text", "plain ~ text" }, { "100%", "100%25" },
		{ "a\nb", "a%0Ab" }, { "\xc3\xbc", "%C3%BC" },		 { "\x7f", "%7F" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *encoded = rdmad_grpc_text_encode(cases[i].text);
		g_autofree char *decoded = rdmad_grpc_text_decode(encoded, strlen(encoded));

		g_assert_cmpstr(encoded, ==, cases[i].encoded);
		g_assert_cmpstr(decoded, ==, cases[i].text);
	}
}

static void test_a_malformed_escape_stays_as_it_is(void)
{
	static const char *const cases[] = { "%", "%4", "%zz", "a%", "50% off", "%%%" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *decoded = rdmad_grpc_text_decode(cases[i], strlen(cases[i]));

		g_assert_cmpstr(decoded, ==, cases[i]);
	}
}

static void test_bytes_that_are_no_utf8_do_not_pass(void)
{
	g_autofree char *decoded = rdmad_grpc_text_decode("%FF%00x", 7);
	g_autofree char *encoded = rdmad_grpc_text_encode("\xff");

	g_assert_true(g_utf8_validate(decoded, -1, NULL));
	g_assert_true(g_str_has_suffix(decoded, "x"));
	g_assert_cmpstr(encoded, ==, "%EF%BF%BD");
}

static void test_a_long_text_is_cut_between_characters(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *encoded = NULL, *decoded = NULL;

	for (int i = 0; i < 5000; i++)
		g_string_append(text, "\xe2\x82\xac");
	encoded = rdmad_grpc_text_encode(text->str);
	decoded = rdmad_grpc_text_decode(encoded, strlen(encoded));
	g_assert_cmpuint(strlen(encoded), <=, RDMAD_GRPC_TEXT_MAX);
	g_assert_cmpuint(strlen(encoded), >, RDMAD_GRPC_TEXT_MAX - 9);
	g_assert_true(g_str_has_prefix(text->str, decoded));
}

static void test_timeouts_are_read_in_every_unit_and_rounded_up(void)
{
	static const struct {
		const char *text;
		guint ms;
	} cases[] = {
		{ "1H", 3600000 },    { "2M", 120000 }, { "3S", 3000 }, { "250m", 250 },
		{ "1500u", 2 },	      { "1n", 1 },	{ "0m", 0 },	{ "99999999H", G_MAXINT32 },
		{ "99999999n", 100 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		guint ms = 12345;

		g_assert_true(rdmad_grpc_timeout_parse(cases[i].text, strlen(cases[i].text), &ms));
		g_assert_cmpuint(ms, ==, cases[i].ms);
	}
}

static void test_malformed_timeouts_are_refused(void)
{
	static const char *const cases[] = {
		"", "S", "1", "1s", "-1S", "123456789S", "1 S", "1SS"
	};
	guint ms;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_false(rdmad_grpc_timeout_parse(cases[i], strlen(cases[i]), &ms));
}

static void test_a_timeout_that_is_sent_is_read_back(void)
{
	static const guint cases[] = { 1, 999, 99999999, 100000000, G_MAXINT32 / 1000 * 1000 };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = rdmad_grpc_timeout_format(cases[i]);
		guint ms = 0;

		g_assert_true(rdmad_grpc_timeout_parse(text, strlen(text), &ms));
		g_assert_cmpuint(ms, ==, cases[i]);
	}
}

/* "abc", "" and "defgh" in a row, in pieces of `step` bytes. */
static void read_three(gsize step)
{
	static const char *const wanted[] = { "abc", "", "defgh" };
	g_autoptr(GByteArray) stream = g_byte_array_new();
	RdmadGrpcReader reader;
	guint got = 0;

	for (int i = 0; i < 3; i++)
		rdmad_grpc_message_append(stream, (const guint8 *)wanted[i], strlen(wanted[i]));
	rdmad_grpc_reader_init(&reader, 5);
	for (gsize at = 0; at < stream->len; at += step) {
		const guint8 *data = stream->data + at;
		gsize size = MIN(step, stream->len - at);

		while (size > 0) {
			if (rdmad_grpc_reader_take(&reader, &data, &size) !=
			    RDMAD_GRPC_READ_MESSAGE)
				continue;
			g_assert_cmpmem(reader.body->data, reader.body->len, wanted[got],
					strlen(wanted[got]));
			rdmad_grpc_reader_next(&reader);
			got++;
		}
	}
	g_assert_cmpuint(got, ==, 3);
	g_assert_false(rdmad_grpc_reader_partial(&reader));
	rdmad_grpc_reader_clear(&reader);
}

static void test_messages_are_put_together_however_they_are_cut(void)
{
	for (gsize step = 1; step < 25; step++)
		read_three(step);
}

static RdmadGrpcRead read_prefix(const char *prefix, gsize max)
{
	RdmadGrpcReader reader;
	const guint8 *data = (const guint8 *)prefix;
	gsize size = 5;
	RdmadGrpcRead result;

	rdmad_grpc_reader_init(&reader, max);
	result = rdmad_grpc_reader_take(&reader, &data, &size);
	rdmad_grpc_reader_clear(&reader);
	return result;
}

static void test_too_large_and_compressed_messages_are_distinguished(void)
{
	g_assert_cmpint(read_prefix("\0\0\0\0\5", 5), ==, RDMAD_GRPC_READ_MORE);
	g_assert_cmpint(read_prefix("\0\0\0\0\6", 5), ==, RDMAD_GRPC_READ_TOO_LARGE);
	g_assert_cmpint(read_prefix("\0\xff\xff\xff\xff", 5), ==, RDMAD_GRPC_READ_TOO_LARGE);
	g_assert_cmpint(read_prefix("\1\0\0\0\5", 5), ==, RDMAD_GRPC_READ_COMPRESSED);
	g_assert_cmpint(read_prefix("\0\0\0\0\0", 5), ==, RDMAD_GRPC_READ_MESSAGE);
}

static void test_a_promised_length_costs_no_memory(void)
{
	RdmadGrpcReader reader;
	const guint8 *data = (const guint8 *)"\0\0\x40\0\0xy";
	gsize size = 7;

	rdmad_grpc_reader_init(&reader, 1u << 24);
	g_assert_cmpint(rdmad_grpc_reader_take(&reader, &data, &size), ==, RDMAD_GRPC_READ_MORE);
	g_assert_cmpuint(reader.body->len, ==, 2);
	g_assert_true(rdmad_grpc_reader_partial(&reader));
	rdmad_grpc_reader_clear(&reader);
}

static void test_status_numbers_are_read_strictly(void)
{
	static const char *const bad[] = { "", "-1", "x", "1x", " 1", "1234" };
	RdmadGrpcStatus status;

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rdmad_grpc_status_parse(bad[i], strlen(bad[i]), &status));
	g_assert_true(rdmad_grpc_status_parse("14", 2, &status));
	g_assert_cmpint(status, ==, RDMAD_GRPC_UNAVAILABLE);
	g_assert_true(rdmad_grpc_status_parse("17", 2, &status));
	g_assert_cmpint(status, ==, RDMAD_GRPC_UNKNOWN);
	g_assert_cmpstr(rdmad_grpc_status_name(RDMAD_GRPC_UNAVAILABLE), ==, "UNAVAILABLE");
	g_assert_cmpstr(rdmad_grpc_status_name((RdmadGrpcStatus)99), ==, "UNKNOWN");
}

#define TEST(name) UNIT_TEST("/grpc/wire/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_status_text_is_escaped_as_grpc_wants_it),
	TEST(a_malformed_escape_stays_as_it_is),
	TEST(bytes_that_are_no_utf8_do_not_pass),
	TEST(a_long_text_is_cut_between_characters),
	TEST(timeouts_are_read_in_every_unit_and_rounded_up),
	TEST(malformed_timeouts_are_refused),
	TEST(a_timeout_that_is_sent_is_read_back),
	TEST(messages_are_put_together_however_they_are_cut),
	TEST(too_large_and_compressed_messages_are_distinguished),
	TEST(a_promised_length_costs_no_memory),
	TEST(status_numbers_are_read_strictly),
	{ 0 },
};
