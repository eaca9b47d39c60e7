/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http-output.h"

#include <string.h>

/* However much the socket takes at a time, head and body leave whole and in order. */
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
			HttpOutput out = { g_strdup(table[i].head), g_strdup(table[i].body),
					   strlen(table[i].head),
					   table[i].body ? strlen(table[i].body) : 0, 0 };
			struct iovec parts[2];
			guint n;

			while ((n = http_output_rest(&out, parts))) {
				const gsize take = MIN(pace, parts[0].iov_len);

				g_assert_true(parts[0].iov_len > 0);
				g_assert_true(n == 1 || parts[1].iov_len > 0);
				g_string_append_len(sent, parts[0].iov_base, take);
				out.sent += take;
			}
			g_assert_cmpstr(sent->str, ==, all);
			http_output_clear(&out);
			g_assert_cmpuint(http_output_rest(&out, parts), ==, 0);
		}
}

static void test_both_leave_together(void)
{
	HttpOutput out = { g_strdup("head"), g_strdup("body"), 4, 4, 3 };
	struct iovec parts[2];

	g_assert_cmpuint(http_output_rest(&out, parts), ==, 2);
	g_assert_cmpmem(parts[0].iov_base, parts[0].iov_len, "d", 1);
	g_assert_cmpmem(parts[1].iov_base, parts[1].iov_len, "body", 4);
	http_output_clear(&out);
}

#define ADD(name) g_test_add_func("/http-output/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(what_is_left_is_sent_at_any_pace);
	ADD(both_leave_together);
	return g_test_run();
}
