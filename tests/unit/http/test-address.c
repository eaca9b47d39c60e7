/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdmad/error.h>

#include "http/address.h"
#include "../support/unit.h"

static void test_numeric_addresses_are_taken(void)
{
	static const struct {
		const char *text;
		int family;
		gboolean any;
	} table[] = {
		{ "127.0.0.1:9889", AF_INET, FALSE }, { "0.0.0.0:9889", AF_INET, FALSE },
		{ "[::1]:9889", AF_INET6, FALSE },    { "[::]:9889", AF_INET6, FALSE },
		{ ":9889", AF_INET6, TRUE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		RdmadHttpAddress address;
		g_autoptr(GError) error = NULL;

		g_assert_true(rdmad_http_address_parse(table[i].text, &address, &error));
		g_assert_no_error(error);
		g_assert_cmpint(address.addr.ss_family, ==, table[i].family);
		g_assert_cmpint(address.any, ==, table[i].any);
		g_assert_cmpuint(ntohs(address.port), ==, 9889);
	}
}

static void test_anything_else_is_refused_with_the_forms(void)
{
	static const char *const table[] = {
		"",
		"9889",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:0",
		"127.0.0.1:65536",
		"127.0.0.1:+1",
		"127.0.0.1: 1",
		"127.0.0.1:1a",
		"localhost:9889",
		"::1:9889",
		"[::1:9889",
		"[::1]9889",
		"[]:9889",
		"[127.0.0.1]:99",
		"[fe80::1%eth0]:99",
		"1.2.3:99",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		RdmadHttpAddress address;
		g_autoptr(GError) error = NULL;

		g_test_message("%s", table[i]);
		g_assert_false(rdmad_http_address_parse(table[i], &address, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_assert_nonnull(strstr(error->message, "[::1]:9889"));
	}
}

#define TEST(name) UNIT_TEST("/http-address/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(numeric_addresses_are_taken),
	TEST(anything_else_is_refused_with_the_forms),
	{ 0 },
};
