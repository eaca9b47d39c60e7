/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "http/access/web-config.h"
#include "../support/unit.h"

#define HASH  "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
#define FILES "tls_server_config:\n  cert_file: c.pem\n  key_file: k.pem\n"

static WebConfig *parse(const char *text, GError **error)
{
	return web_config_parse("/etc/x/w.yml", text, strlen(text), error);
}

static WebConfig *parse_good(const char *text)
{
	g_autoptr(GError) error = NULL;
	WebConfig *config = parse(text, &error);

	g_assert_no_error(error);
	return config;
}

static void test_nothing_is_a_configuration_without_anything(void)
{
	static const char *const table[] = {
		"", "# only this\n", "---\n", "tls_server_config:\n", "basic_auth_users: ~\n", "{}"
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(WebConfig) config = parse_good(table[i]);

		g_assert_false(config->has_tls);
		g_assert_cmpuint(g_hash_table_size(config->users), ==, 0);
		g_assert_cmpuint(config->headers->len, ==, 0);
		g_assert_null(config->open_paths);
	}
}

static void test_every_key_is_read(void)
{
	g_autoptr(WebConfig) config =
		parse_good("tls_server_config:\n"
			   "  cert_file: c.pem\n"
			   "  key_file: /keys/k.pem\n"
			   "  client_ca_file: sub/ca.pem\n"
			   "  client_auth_type: RequireAndVerifyClientCert\n"
			   "  client_allowed_sans: [ prometheus, 10.0.0.1 ]\n"
			   "  min_version: TLS13\n"
			   "  max_version: TLS13\n"
			   "  cipher_suites: [ TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 ]\n"
			   "  prefer_server_cipher_suites: false\n"
			   "  curve_preferences: [ X25519, CurveP256 ]\n"
			   "http_server_config:\n"
			   "  http2: true\n"
			   "  headers:\n"
			   "    Strict-Transport-Security: max-age=1\n"
			   "    X-Frame-Options: sameorigin\n"
			   "    Content-Security-Policy: ''\n"
			   "rate_limit:\n  interval: 1m30s\n  burst: 20\n"
			   "basic_auth_users:\n  alice: " HASH "\n  \"12\": " HASH "\n"
			   "auth_excluded_paths: [ /livez ]\n");
	const WebHeader *header = g_ptr_array_index(config->headers, 1);

	g_assert_true(config->has_tls);
	g_assert_cmpstr(config->tls.cert.path, ==, "/etc/x/c.pem");
	g_assert_cmpstr(config->tls.key.path, ==, "/keys/k.pem");
	g_assert_cmpstr(config->tls.client_ca.path, ==, "/etc/x/sub/ca.pem");
	g_assert_cmpint(config->tls.client_auth, ==, WEB_CLIENT_REQUIRE_VERIFY);
	g_assert_cmpstr(config->tls.client_sans[1], ==, "10.0.0.1");
	g_assert_cmpint(config->tls.min_version, ==, 13);
	g_assert_cmpint(config->tls.max_version, ==, 13);
	g_assert_cmpstr(config->tls.ciphers[0], ==, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
	g_assert_false(config->tls.prefer_server);
	g_assert_cmpstr(config->tls.curves[0], ==, "X25519");
	g_assert_cmpstr(config->tls.curves[1], ==, "P-256");
	g_assert_cmpuint(config->headers->len, ==, 2);
	g_assert_cmpstr(header->name, ==, "X-Frame-Options");
	g_assert_cmpstr(header->value, ==, "sameorigin");
	g_assert_cmpfloat_with_epsilon(config->rate_interval_s, 90, 1e-9);
	g_assert_cmpint(config->rate_burst, ==, 20);
	g_assert_cmpstr(g_hash_table_lookup(config->users, "alice"), ==, HASH);
	g_assert_cmpstr(g_hash_table_lookup(config->users, "12"), ==, HASH);
	g_assert_cmpstr(config->open_paths[0], ==, "/livez");
}

/* Unquoted values are texts where a text is expected; an empty value counts as absent. */
static void test_texts_need_no_quotes(void)
{
	g_autofree char *pem = g_strnfill(5000, 'a');
	g_autofree char *text = g_strdup_printf("tls_server_config:\n"
						"  cert: %s\n"
						"  key_file: 007\n"
						"  cert_file: ''\n"
						"  client_ca_file: ~\n"
						"  cipher_suites: []\n"
						"auth_excluded_paths: [ yes, 1 ]\n",
						pem);
	g_autoptr(WebConfig) config = parse_good(text);

	g_assert_cmpstr(config->tls.cert.text, ==, pem);
	g_assert_null(config->tls.cert.path);
	g_assert_cmpstr(config->tls.key.path, ==, "/etc/x/007");
	g_assert_null(config->tls.client_ca.path);
	g_assert_null(config->tls.ciphers);
	g_assert_cmpstr(config->open_paths[0], ==, "yes");
	g_assert_cmpstr(config->open_paths[1], ==, "1");
}

static void test_clients_are_asked_as_it_says(void)
{
	static const struct {
		const char *text;
		WebClientAuth auth;
	} table[] = {
		{ "", WEB_CLIENT_NONE },
		{ "  client_auth_type: ''\n", WEB_CLIENT_NONE },
		{ "  client_auth_type: NoClientCert\n", WEB_CLIENT_NONE },
		{ "  client_auth_type: RequestClientCert\n", WEB_CLIENT_REQUEST },
		{ "  client_auth_type: RequireAnyClientCert\n", WEB_CLIENT_REQUIRE },
		{ "  client_auth_type: RequireClientCert\n", WEB_CLIENT_REQUIRE },
		{ "  client_auth_type: VerifyClientCertIfGiven\n  client_ca: x\n",
		  WEB_CLIENT_VERIFY },
		{ "  client_auth_type: RequireAndVerifyClientCert\n  client_ca: x\n",
		  WEB_CLIENT_REQUIRE_VERIFY },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *text = g_strconcat(FILES, table[i].text, NULL);
		g_autoptr(WebConfig) config = parse_good(text);

		g_assert_cmpint(config->tls.client_auth, ==, table[i].auth);
	}
}

static void test_what_is_older_than_tls_1_2_is_not_spoken_and_that_is_said(void)
{
	g_autoptr(WebConfig) config = parse_good(FILES "  min_version: TLS10\n");

	g_assert_cmpint(config->tls.min_version, ==, 12);
	g_assert_cmpuint(config->notes->len, ==, 1);
	g_assert_nonnull(strstr(config->notes->pdata[0], "/etc/x/w.yml:4: "));
}

static void test_durations_are_go_s(void)
{
	static const struct {
		const char *text;
		double seconds;
	} table[] = { { "0", 0 },      { "0s", 0 },	   { "1s", 1 },	  { "250ms", 0.25 },
		      { "1.5s", 1.5 }, { "1h", 3600 },	   { "2m", 120 }, { "1us", 1e-6 },
		      { "1µs", 1e-6 }, { "1000ns", 1e-6 }, { "1m1s", 61 } };

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *text = g_strdup_printf(
			"rate_limit: { interval: \"%s\", burst: 1 }\n", table[i].text);
		g_autoptr(WebConfig) config = parse_good(text);

		g_assert_cmpfloat_with_epsilon(config->rate_interval_s, table[i].seconds, 1e-9);
	}
}

/* Each error has its line and a part of the reason. */
static void test_what_is_wrong_is_refused_with_its_line(void)
{
	static const struct {
		const char *text, *where, *why;
	} table[] = {
		{ "tls_server_confg: {}", ":1: ", "did you mean `tls_server_config`?" },
		{ "\n\"a\\nb\": 1\n", ":2: ", "a\\nb: unknown key" },
		{ "- a", ":1: ", "keys and values" },
		{ "tls_server_config: yes", ":1: ", "keys and values" },
		{ FILES "  cert_fle: x\n", ":4: ", "did you mean `cert_file`?" },
		{ FILES "  cert_file: x\n", ":4:3: ", "twice" },
		{ FILES "  cert: x\n", ":2: ", "one is too many" },
		{ "tls_server_config:\n  cert_file: c\n", ":2: ", "key_file is missing" },
		{ "tls_server_config:\n  key_file: c\n", ":2: ", "cert_file is missing" },
		{ "tls_server_config:\n  client_auth_type: NoClientCert\n", ":2: ", "is missing" },
		{ "tls_server_config:\n  min_version: TLS13\n", ":2: ", "is missing" },
		{ "tls_server_config:\n  cert_file: [ c ]\n", ":2: ", "expected a string" },
		{ FILES "  client_auth_type: Sure\n",
		  ":4: ", "one of \"NoClientCert\", \"Request" },
		{ FILES "  client_auth_type: VerifyClientCertIfGiven\n",
		  ":2: ", "no client_ca_file" },
		{ FILES "  client_auth_type: RequireAndVerifyClientCert\n",
		  ":2: ", "no client_ca_file" },
		{ FILES "  client_ca_file: x\n", ":2: ", "client_auth_type" },
		{ FILES "  client_allowed_sans: [ a ]\n",
		  ":2: ", "client_auth_type that requires" },
		{ FILES "  client_auth_type: RequestClientCert\n  client_allowed_sans: [ a ]\n",
		  ":2: ", "requires" },
		{ FILES "  client_allowed_sans: a\n", ":4: ", "a list" },
		{ FILES "  client_allowed_sans: [ [ a ] ]\n", ":4: ", "a string" },
		{ FILES "  min_version: TLS14\n", ":4: ", "\"TLS12\", \"TLS13\"; did you mean" },
		{ FILES "  min_version: 1.2\n", ":4: ", "not one of" },
		{ FILES "  max_version: TLS11\n", ":4: ", "TLS 1.2 is the oldest" },
		{ FILES "  min_version: TLS13\n  max_version: TLS12\n", ":2: ", "above" },
		{ FILES "  cipher_suites:\n  - TLS_ECDHE_RSA_WITH_RC4_128_SHA\n",
		  ":5: ", "cipher" },
		{ FILES "  cipher_suites: ALL\n", ":4: ", "a list" },
		{ FILES "  curve_preferences: [ P256 ]\n", ":4: ", "CurveP256" },
		{ FILES "  prefer_server_cipher_suites: 1\n", ":4: ", "true or false" },
		{ FILES "  prefer_server_cipher_suites: \"true\"\n", ":4: ", "true or false" },
		{ "http_server_config: { http2: maybe }", ":1: ", "true or false" },
		{ "http_server_config: { http3: true }", ":1: ", "did you mean `http2`" },
		{ "http_server_config:\n headers: { X-Own: a }", ":2: ", "headers here are" },
		{ "http_server_config:\n headers: { X-Frame-Options: DENY }", ":2: ", "deny" },
		{ "http_server_config:\n headers: { X-Content-Type-Options: a }",
		  ":2: ", "nosniff" },
		{ "http_server_config:\n headers:\n  Content-Security-Policy: \"a\\r\\nb: c\"",
		  ":3: ", "one line" },
		{ "http_server_config: { headers: [ a ] }", ":1: ", "keys and values" },
		{ "rate_limit: { interval: 1, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: -1s, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: 2h, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: infs, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: 0x1s, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: 1e999s, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: '', burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: 1s, burst: -1 }", ":1: ", "from 0 to 1000000" },
		{ "rate_limit: { interval: 1s }", ":1: ", "burst" },
		{ "basic_auth_users: [ a ]", ":1: ", "keys and values" },
		{ "basic_auth_users:\n  a: geheim\n", ":2: ", "htpasswd" },
		{ "basic_auth_users:\n  a:\n", ":2: ", "" },
		{ "basic_auth_users: geheim", ":1: ", "keys and values" },
		{ "tls_server_config: geheim", ":1: ", "keys and values" },
		{ FILES "  client_auth_type: geheim\n", ":4: ", "not one of" },
		{ FILES "  prefer_server_cipher_suites: geheim\n", ":4: ", "true or false" },
		{ FILES "  cipher_suites: [ geheim ]\n", ":4: ", "cipher" },
		{ "rate_limit: { interval: geheim, burst: 1 }", ":1: ", "a time" },
		{ "rate_limit: { interval: 1s, burst: geheim }", ":1: ", "an integer" },
		{ "basic_auth_users:\n  a: [ " HASH " ]\n", ":2: ", "bcrypt" },
		{ "basic_auth_users:\n  \"a:b\": " HASH "\n", ":2: ", "colon" },
		{ "auth_excluded_paths: /livez", ":1: ", "a list" },
		{ "{}\n---\n{}\n", ":3: ", "second document" },
		{ "basic_auth_users: &a { x: *a }", ":1:", "aliases" },
		{ "tls_server_config: {", ":1:", "" },
		{ "a: \xff", "w.yml:", "" },
		{ "\"a\\0b\": 1", ":1:", "NUL" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(WebConfig) config = parse(table[i].text, &error);

		if (config)
			g_test_message("taken: %s", table[i].text);
		g_assert_null(config);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_test_message("%s", error->message);
		g_assert_true(g_str_has_prefix(error->message, "/etc/x/w.yml:"));
		g_assert_nonnull(strstr(error->message, table[i].where));
		g_assert_nonnull(strstr(error->message, table[i].why));
		g_assert_null(strstr(error->message, "geheim"));
	}
}

static void test_a_bomb_is_refused_while_it_is_small(void)
{
	g_autofree char *deep = g_strnfill(10000, '[');
	g_autofree char *wide = g_strnfill(1 << 20, ',');
	g_autoptr(GError) too_deep = NULL, too_wide = NULL;

	wide[0] = '[';
	for (gsize i = 1; i < (1 << 20) - 1; i += 2)
		wide[i] = 'a';
	g_assert_null(parse(deep, &too_deep));
	g_assert_error(too_deep, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_assert_null(parse(wide, &too_wide));
	g_assert_error(too_wide, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
}

#define TEST(name) UNIT_TEST("/web-config/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(nothing_is_a_configuration_without_anything),
	TEST(every_key_is_read),
	TEST(texts_need_no_quotes),
	TEST(clients_are_asked_as_it_says),
	TEST(what_is_older_than_tls_1_2_is_not_spoken_and_that_is_said),
	TEST(durations_are_go_s),
	TEST(what_is_wrong_is_refused_with_its_line),
	TEST(a_bomb_is_refused_while_it_is_small),
	{ 0 },
};
