/* SPDX-License-Identifier: Apache-2.0 */
#include "http/output.h"

#include <string.h>

#include "../support/unit.h"

/* Head and body are sent completely and in order, however much the socket accepts at a time. */
static void test_what_is_left_is_sent_at_any_pace(void)
{
	static const struct {
		const char *head, *body;
	} table[] = {
		{ "head", "body" },
		{ "head", NULL },
		{ "head", "" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		for (gsize pace = 1; pace <= 9; pace++) {
			g_autoptr(GString) sent = g_string_new(NULL);
			g_autofree char *all =
				g_strconcat(table[i].head, table[i].body ?: "", NULL);
			const char *body = table[i].body;
			const gsize size = body ? strlen(body) : 0;
			HttpOutput out = { g_strdup(table[i].head),
					   body ? g_bytes_new(body, size) : NULL,
					   strlen(table[i].head), size, 0 };
			struct iovec parts[2];
			guint n;

			while ((n = http_output_rest(&out, G_MAXSIZE, parts))) {
				const gsize take = MIN(pace, parts[0].iov_len);

				g_assert_true(parts[0].iov_len > 0);
				g_assert_true(n == 1 || parts[1].iov_len > 0);
				g_string_append_len(sent, parts[0].iov_base, take);
				out.sent += take;
			}
			g_assert_cmpstr(sent->str, ==, all);
			http_output_clear(&out);
			g_assert_cmpuint(http_output_rest(&out, G_MAXSIZE, parts), ==, 0);
		}
}

static void test_both_leave_together(void)
{
	HttpOutput out = { g_strdup("head"), g_bytes_new_static("body", 4), 4, 4, 3 };
	struct iovec parts[2];

	g_assert_cmpuint(http_output_rest(&out, G_MAXSIZE, parts), ==, 2);
	g_assert_cmpmem(parts[0].iov_base, parts[0].iov_len, "d", 1);
	g_assert_cmpmem(parts[1].iov_base, parts[1].iov_len, "body", 4);
	http_output_clear(&out);
}

static void test_no_more_is_sent_than_may_be(void)
{
	static const struct {
		gsize sent, max;
		const char *parts[2];
	} table[] = {
		{ 0, 0, { NULL, NULL } }, { 0, 3, { "hea", NULL } }, { 0, 6, { "head", "bo" } },
		{ 3, 2, { "d", "b" } },	  { 5, 2, { "od", NULL } },  { 5, 9, { "ody", NULL } },
		{ 8, 1, { NULL, NULL } },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		HttpOutput out = { g_strdup("head"), g_bytes_new_static("body", 4), 4, 4,
				   table[i].sent };
		struct iovec parts[2];
		const guint n = http_output_rest(&out, table[i].max, parts);

		g_assert_cmpuint(n, ==, !!table[i].parts[0] + !!table[i].parts[1]);
		for (guint k = 0; k < n; k++)
			g_assert_cmpmem(parts[k].iov_base, parts[k].iov_len, table[i].parts[k],
					strlen(table[i].parts[k]));
		http_output_clear(&out);
	}
}

#define TEST(name) UNIT_TEST("/http-output/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(what_is_left_is_sent_at_any_pace),
	TEST(both_leave_together),
	TEST(no_more_is_sent_than_may_be),
	{ 0 },
};
