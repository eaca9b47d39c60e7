/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "base/log-format.h"
#include "../support/unit.h"

#define AT 1795261923123456 /* 2026-11-21T11:52:03.123456Z */

static const RdmadLogRecord plain = { AT, RDMAD_LOG_INFO, "device-plugin", "registered", { NULL } };

static const RdmadLogRecord full = {
	AT,
	RDMAD_LOG_WARNING,
	"inventory",
	"link down",
	{ "0000:3b:00.0", "ns/pod-0", "rdma/hca", "0123456789abcdef" },
};

static void test_text_is_one_line_with_time_level_and_topic(void)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rdmad_log_format_text(line, &plain);
	g_assert_cmpstr(line->str, ==,
			"2026-11-21T11:52:03.123Z info    device-plugin: registered\n");
	g_string_truncate(line, 0);
	rdmad_log_format_text(line, &full);
	g_assert_cmpstr(line->str, ==,
			"2026-11-21T11:52:03.123Z warning inventory: link down "
			"device=0000:3b:00.0 pod=ns/pod-0 resource=rdma/hca "
			"allocation=0123456789abcdef\n");
}

static void test_the_priority_form_leaves_the_time_to_the_journal(void)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rdmad_log_format_priority(line, &plain);
	g_assert_cmpstr(line->str, ==, "<6>device-plugin: registered\n");
}

static void test_no_message_starts_a_line_or_controls_the_terminal(void)
{
	static const struct {
		const char *message, *shown;
	} rows[] = {
		{ "a\nb", "a\\nb" },
		{ "a\rb", "a\\u000db" },
		{ "a\tb", "a\\tb" },
		{ "\x1b[31mred", "\\u001b[31mred" },
		{ "\x7f", "\\u007f" },
		{ "\xc2\x9b"
		  "31m",
		  "\\u009b31m" },
		{ "\xe2\x80\xa8", "\\u2028" },
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "größe \\ \"x\"", "größe \\ \"x\"" },
		{ "", "" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		const RdmadLogRecord record = {
			AT, RDMAD_LOG_INFO, "t", rows[i].message, { NULL }
		};
		g_autofree char *expected = g_strdup_printf("<6>t: %s\n", rows[i].shown);
		g_autoptr(GString) line = g_string_new(NULL);

		rdmad_log_format_priority(line, &record);
		g_assert_cmpstr(line->str, ==, expected);
	}
}

static json_t *as_json(const RdmadLogRecord *record)
{
	g_autoptr(GString) line = g_string_new(NULL);
	json_error_t error;
	json_t *object;

	rdmad_log_format_json(line, record);
	g_assert_true(g_str_has_suffix(line->str, "}\n"));
	g_assert_true(strchr(line->str, '\n') == line->str + line->len - 1);
	object = json_loadb(line->str, line->len, 0, &error);
	if (!object)
		g_error("%s: %s", line->str, error.text);
	return object;
}

static const char *member(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void test_json_carries_the_fields_by_name(void)
{
	json_t *object = as_json(&full);

	g_assert_cmpstr(member(object, "time"), ==, "2026-11-21T11:52:03.123Z");
	g_assert_cmpstr(member(object, "level"), ==, "warning");
	g_assert_cmpstr(member(object, "topic"), ==, "inventory");
	g_assert_cmpstr(member(object, "message"), ==, "link down");
	g_assert_cmpstr(member(object, "device"), ==, "0000:3b:00.0");
	g_assert_cmpstr(member(object, "pod"), ==, "ns/pod-0");
	g_assert_cmpstr(member(object, "resource"), ==, "rdma/hca");
	g_assert_cmpstr(member(object, "allocation"), ==, "0123456789abcdef");
	json_decref(object);

	object = as_json(&plain);
	g_assert_null(json_object_get(object, "device"));
	json_decref(object);
}

static void test_json_stays_json_whatever_the_message(void)
{
	static const char *const messages[] = {
		"quote \" backslash \\ slash /",
		"\n\r\t\b\f\x01\x1f\x7f",
		"größe €",
		"\\u0041",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(messages); i++) {
		const RdmadLogRecord record = { AT, RDMAD_LOG_ERR, "t", messages[i], { NULL } };
		json_t *object = as_json(&record);

		g_assert_cmpstr(member(object, "message"), ==, messages[i]);
		json_decref(object);
	}
}

static void test_invalid_utf8_becomes_valid_json(void)
{
	const RdmadLogRecord record = { AT, RDMAD_LOG_ERR, "t", "a\xff", { .pod = "\xc3" } };
	json_t *object = as_json(&record);

	g_assert_cmpstr(member(object, "message"), ==, "a\xef\xbf\xbd");
	g_assert_cmpstr(member(object, "pod"), ==, "\xef\xbf\xbd");
	json_decref(object);
}

typedef void (*Format)(GString *out, const RdmadLogRecord *record);

static void test_no_line_is_longer_than_the_limit(void)
{
	static const Format formats[] = { rdmad_log_format_text, rdmad_log_format_json,
					  rdmad_log_format_priority, rdmad_log_format_journal };
	static const char fillers[] = { 'x', '\n', '"', '\x01', '\xff' };

	for (gsize i = 0; i < G_N_ELEMENTS(formats) * G_N_ELEMENTS(fillers); i++) {
		g_autofree char *big = g_strnfill(100000, fillers[i % G_N_ELEMENTS(fillers)]);
		const RdmadLogRecord record = {
			AT, RDMAD_LOG_ERR, big, big, { big, big, big, big }
		};
		g_autoptr(GString) line = g_string_new(NULL);

		formats[i / G_N_ELEMENTS(fillers)](line, &record);
		g_assert_cmpuint(line->len, >, 1000);
		g_assert_cmpuint(line->len, <=, RDMAD_LOG_LINE_MAX);
		g_assert_cmpint(line->str[line->len - 1], ==, '\n');
	}
}

static void test_a_truncated_message_is_marked(void)
{
	g_autofree char *big = g_strnfill(100000, 'x');
	const RdmadLogRecord record = { AT, RDMAD_LOG_ERR, "t", big, { NULL } };
	g_autoptr(GString) line = g_string_new(NULL);

	rdmad_log_format_text(line, &record);
	g_assert_true(g_str_has_suffix(line->str, "xxx...\n"));
}

static void test_the_journal_gets_named_fields(void)
{
	g_autoptr(GString) datagram = g_string_new(NULL);

	rdmad_log_format_journal(datagram, &full);
	g_assert_cmpstr(datagram->str, ==,
			"PRIORITY=4\nSYSLOG_IDENTIFIER=rdmad\nRDMAD_TOPIC=inventory\n"
			"MESSAGE=link down\nRDMAD_DEVICE=0000:3b:00.0\nRDMAD_POD=ns/pod-0\n"
			"RDMAD_RESOURCE=rdma/hca\nRDMAD_ALLOCATION=0123456789abcdef\n");
}

static void test_values_of_several_lines_go_to_the_journal_with_their_length(void)
{
	static const char expected[] = "PRIORITY=6\nSYSLOG_IDENTIFIER=rdmad\nRDMAD_TOPIC=t\n"
				       "MESSAGE\n\x12\0\0\0\0\0\0\0one\nPRIORITY=0\ntwo\n";
	const RdmadLogRecord record = { AT, RDMAD_LOG_INFO, "t", "one\nPRIORITY=0\ntwo", { NULL } };
	g_autoptr(GString) datagram = g_string_new(NULL);

	rdmad_log_format_journal(datagram, &record);
	/* 3 + 1 + 10 + 1 + 3 bytes */
	g_assert_cmpmem(datagram->str, datagram->len, expected, sizeof(expected) - 1);
}

#define TEST(name) UNIT_TEST("/log-format/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(text_is_one_line_with_time_level_and_topic),
	TEST(the_priority_form_leaves_the_time_to_the_journal),
	TEST(no_message_starts_a_line_or_controls_the_terminal),
	TEST(json_carries_the_fields_by_name),
	TEST(json_stays_json_whatever_the_message),
	TEST(invalid_utf8_becomes_valid_json),
	TEST(no_line_is_longer_than_the_limit),
	TEST(a_truncated_message_is_marked),
	TEST(the_journal_gets_named_fields),
	TEST(values_of_several_lines_go_to_the_journal_with_their_length),
	{ 0 },
};
