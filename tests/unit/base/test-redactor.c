/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>

#include "base/redactor.h"
#include "../support/unit.h"

typedef struct {
	const char *name, *text, *redacted;
} Case;

#define HASH  "$2y$10$abcdefghijklmnopqrstuu3ZVwH0xGxqWmQW0Z1bPq0J9m9m9m9m9"
#define TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"

static const Case texts[] = {
	{ "string", "password = \"hunter2\"; x = 1;", "password = REDACTED" },
	{ "comment", "# api_token : \"hunter2", "# api_token : REDACTED" },
	{ "json", "{\"clientSecret\": \"hunter2\"}", "{\"clientSecret\": REDACTED" },
	{ "escaped-json", "{\\\"password\\\": \\\"hunter2\\\"}", "{\\\"password\\\": REDACTED" },
	{ "environment", "AWS_SECRET_ACCESS_KEY=hunter2", "AWS_SECRET_ACCESS_KEY=REDACTED" },
	{ "next-line", "password =\n  \"hunter2\";\nx = 1;", "password =\n  REDACTED\nx = 1;" },
	{ "continued", "password = \"hun\"\n  \"ter2\";\nx = 1;", "password = REDACTED\nx = 1;" },
	{ "list", "passwords = ( \"hunter2)\",\n \"hunter2\" ); x = 1;",
	  "passwords = REDACTED; x = 1;" },
	{ "yaml-list", "tokens:\n  - hunter2\n  - hunter2\nx: 1", "tokens: REDACTED\nx: 1" },
	{ "yaml-flat-list", "tokens:\n- hunter2\n- hunter2\nx: 1", "tokens: REDACTED\nx: 1" },
	{ "yaml-block", "a:\n  password: |\n    hunter2\n    hunter2\n  x: 1",
	  "a:\n  password: REDACTED\n  x: 1" },
	{ "yaml-group", "basic_auth_users:\n  alice: hunter2\nx: 1",
	  "basic_auth_users: REDACTED\nx: 1" },
	{ "yaml-environment", "- name: DB_PASSWORD\n  value: hunter2\n- name: X",
	  "- name: DB_PASSWORD\n  value: REDACTED\n- name: X" },
	{ "json-environment", "{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}",
	  "{\"name\":\"DB_PASSWORD\",\"value\":REDACTED" },
	{ "url", "server = \"https://me:hunter2@host:1/\";",
	  "server = \"https://REDACTED@host:1/\";" },
	{ "url-of-a-strange-password", "https://me:hunter2@hunter2/hunter2@host/",
	  "https://REDACTED@host/" },
	{ "no-scheme", "proxy = me:hunter2@host:3128", "proxy = REDACTED@host:3128" },
	{ "query", "GET /x?access_token=hunter2&y=1", "GET /x?access_token=REDACTED" },
	{ "header", "Authorization: Basic aHVudGVyMg==", "Authorization: REDACTED" },
	{ "bearer", "sent Bearer hunter2hunter2", "sent Bearer REDACTED" },
	{ "message", "invalid password \"hunter2\" of me", "invalid password \"REDACTED\" of me" },
	{ "web-token", "found " TOKEN " there", "found REDACTED there" },
	{ "bcrypt", "alice: \"" HASH "\"", "alice: \"REDACTED\"" },
	{ "crypt", "root:$6$salt$hunter2:1", "root:REDACTED:1" },
	{ "private-key",
	  "a\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nb",
	  "a\nREDACTED\nb" },
	{ "cut-private-key", "-----BEGIN PRIVATE KEY-----\nhunter2", "REDACTED" },
	/* These are needed, and no secrets. */
	{ "path", "token_file = \"/var/run/secrets/kubernetes.io/serviceaccount/token\";",
	  "token_file = \"/var/run/secrets/kubernetes.io/serviceaccount/token\";" },
	{ "path-error", "/var/run/secrets/x/token: no such file",
	  "/var/run/secrets/x/token: no such file" },
	{ "address", "https://10.0.0.1:6443/api?x=1", "https://10.0.0.1:6443/api?x=1" },
	{ "time", "12:00:01 mlx5_0:1 0000:18:00.0::003", "12:00:01 mlx5_0:1 0000:18:00.0::003" },
	{ "device", "names = ( \"mlx5_0\" ); mode = \"exclusive\";",
	  "names = ( \"mlx5_0\" ); mode = \"exclusive\";" },
};

static void test_text(gconstpointer data)
{
	const Case *row = data;
	g_autoptr(RdmadRedactor) redactor = rdmad_redactor_new();
	g_autofree char *redacted = rdmad_redactor_text(redactor, row->text);

	g_assert_cmpstr(redacted, ==, row->redacted);
}

static const Case values[] = {
	{ "string-in-any-depth", "{\"a\": [{\"b\": \"https://me:hunter2@host\"}]}",
	  "{\"a\": [{\"b\": \"https://REDACTED@host\"}]}" },
	{ "key", "{\"token\": \"hunter2\", \"n\": 1}", "{\"token\": \"REDACTED\", \"n\": 1}" },
	{ "all-below-a-key", "{\"secrets\": {\"a\": [\"hunter2\", 1]}}",
	  "{\"secrets\": {\"a\": [\"REDACTED\", 1]}}" },
	{ "environment", "[{\"name\": \"DB_PASSWORD\", \"value\": \"hunter2\"}]",
	  "[{\"name\": \"DB_PASSWORD\", \"value\": \"REDACTED\"}]" },
	{ "annotation",
	  "{\"annotations\": {\"last-applied\": \"{\\\"password\\\": \\\"hunter2\\\"}\"}}",
	  "{\"annotations\": {\"last-applied\": \"{\\\"password\\\": REDACTED\"}}" },
	{ "age", "{\"token_age_seconds\": 12, \"token_file\": \"/t\"}",
	  "{\"token_age_seconds\": 12, \"token_file\": \"/t\"}" },
};

static void test_json(gconstpointer data)
{
	const Case *row = data;
	g_autoptr(RdmadRedactor) redactor = rdmad_redactor_new();
	json_t *value = json_loads(row->text, 0, NULL);
	json_t *redacted = json_loads(row->redacted, 0, NULL);

	g_assert_nonnull(value);
	g_assert_nonnull(redacted);
	rdmad_redactor_json(redactor, value);
	if (!json_equal(value, redacted))
		g_test_message("%s", json_dumps(value, 0));
	g_assert_true(json_equal(value, redacted));
	json_decref(redacted);
	json_decref(value);
}

static void test_bytes_that_are_not_utf8_are_searched_too(void)
{
	g_autoptr(RdmadRedactor) redactor = rdmad_redactor_new();
	g_autofree char *redacted = rdmad_redactor_text(redactor, "\xff password = hunter2");

	g_assert_cmpstr(redacted, ==, "\xef\xbf\xbd password = REDACTED");
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/redactor/text/", texts, test_text),
	UNIT_CASES("/redactor/json/", values, test_json),
	UNIT_TEST("/redactor/bytes_that_are_not_utf8_are_searched_too",
		  test_bytes_that_are_not_utf8_are_searched_too),
	{ NULL },
};
