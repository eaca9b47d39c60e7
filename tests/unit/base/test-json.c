/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/json.h>

#include <jansson.h>
#include <rdmad/error.h>
#include <string.h>

#include "../support/unit.h"

static void test_what_is_no_plain_json_is_refused_with_its_place(void)
{
	static const struct {
		const char *text;
		gsize length;	     /* 0: to the end */
		const char *message; /* NULL: it is accepted */
	} cases[] = {
		{ "{}" },
		{ "null" },
		{ " [1, 2] " },
		{ "[[[]]]" },
		{ "[\"[[[[[\"]" },
		{ "[\"\\\"[[[[[\"]" },
		{ "{\"a\": {\"b\": []}}" },
		{ "", 0, "byte 0:" },
		{ "{} {}", 0, "byte 4: end of file expected" },
		{ "[[[[]]]]", 0, "byte 3: more than 3 levels deep" },
		{ "{\"a\": [[{}]]}", 0, "byte 8: more than 3 levels deep" },
		{ "{\"a\": 1, \"a\": 2}", 0, "byte 12: duplicate object key" },
		{ "{\"a\": \"\\u0000\"}", 0, "byte" },
		{ "{\"a\"\0: 1}", 9, "byte" },
		{ "[\"\xff\"]", 0, "byte" },
		{ "]]]]", 0, "byte" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const gsize length = cases[i].length ? cases[i].length : strlen(cases[i].text);
		g_autoptr(GError) error = NULL;
		json_t *json = rdmad_json_parse(cases[i].text, length, 3, &error);

		g_test_message("%u: %s", i, error ? error->message : "taken");
		g_assert_true((json == NULL) == (cases[i].message != NULL));
		g_assert_true((json == NULL) == (error != NULL));
		if (error)
			g_assert_true(g_str_has_prefix(error->message, cases[i].message));
		json_decref(json);
	}
}

static void test_a_string_is_valid_whatever_its_bytes(void)
{
	static const struct {
		const char *text, *dumped;
	} cases[] = {
		{ NULL, "null" },
		{ "", "\"\"" },
		{ "mlx5_0", "\"mlx5_0\"" },
		{ "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
		{ "a\xff\x62", "\"a\xef\xbf\xbd\x62\"" },
		{ "\n", "\"\\n\"" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *dumped =
			rdmad_json_dump(rdmad_json_string(cases[i].text), JSON_ENCODE_ANY);

		g_assert_cmpstr(dumped, ==, cases[i].dumped);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/json/refused", test_what_is_no_plain_json_is_refused_with_its_place),
	UNIT_TEST("/json/string", test_a_string_is_valid_whatever_its_bytes),
	{ 0 },
};
