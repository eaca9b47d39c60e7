/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/credentials.h"
#include "../support/unit.h"

static void test_name_and_password_are_taken_apart(void)
{
	static const struct {
		const char *value, *user, *password;
	} table[] = {
		{ "Basic YWxpY2U6c2VjcmV0", "alice", "secret" },
		{ "basic YWxpY2U6c2VjcmV0", "alice", "secret" },
		{ "BASIC   YWxpY2U6c2VjcmV0", "alice", "secret" },
		{ "Basic YTpiOmM=", "a", "b:c" },
		{ "Basic Og==", "", "" },
		{ "Basic YTo=", "a", "" },
		{ "Basic w6Q6/w==", "ä", "\xff" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		HttpCredentials credentials;

		g_assert_true(http_credentials_parse(table[i].value, &credentials));
		g_assert_cmpstr(credentials.user, ==, table[i].user);
		g_assert_cmpstr(credentials.password, ==, table[i].password);
		http_credentials_clear(&credentials);
	}
}

static void test_anything_else_is_none(void)
{
	static const char *const table[] = {
		"",
		"Basic",
		"Basic ",
		"Basic =",
		"Basic ====",
		"Basic YQ==",		 /* no colon */
		"Basic YWxpY2U6c2VjcmV", /* not whole */
		"Basic YWxp Y2U6c2Vj",
		"Basic YTpi\tYg==",
		"Basic YTpiYg===",
		"Basic YTpi=Yg=",
		"Basic YTpiYg==x",
		"Basic YTo_",
		"Basic YTpiAGM=", /* NUL in the password */
		"Basic AGE6Yg==", /* and in the name */
		"Bearer YWxpY2U6c2VjcmV0",
		"Basic,YWxpY2U6c2VjcmV0",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		HttpCredentials credentials;

		g_test_message("%s", table[i]);
		g_assert_false(http_credentials_parse(table[i], &credentials));
		http_credentials_clear(&credentials);
	}
}

#define TEST(name) UNIT_TEST("/http-credentials/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(name_and_password_are_taken_apart),
	TEST(anything_else_is_none),
	{ 0 },
};
