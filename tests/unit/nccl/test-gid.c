/* SPDX-License-Identifier: Apache-2.0 */
#include "gid.h"

#include <arpa/inet.h>
#include <rdmad/error.h>

#include "support/unit.h"

static void test_ranges(void)
{
	static const struct {
		const char *text, *range, *in, *out;
	} cases[] = {
		{ "10.0.0.7/24", "10.0.0.0/24", "10.0.0.255", "10.0.1.0" },
		{ "10.0.0.7", "10.0.0.7/32", "10.0.0.7", "10.0.0.6" },
		{ "10.0.0.7/31", "10.0.0.6/31", "10.0.0.6", "10.0.0.8" },
		{ "0.0.0.0/0", "0.0.0.0/0", "255.255.255.255", "2001:db8::1" },
		{ "2001:db8::7/64", "2001:db8::/64", "2001:db8::ffff", "2001:db8:0:1::" },
		{ "2001:db8::7", "2001:db8::7/128", "2001:db8::7", "2001:db8::6" },
		{ "fe80::1/65", "fe80::/65", "fe80::7fff:ffff:ffff:ffff", "fe80::8000:0:0:0" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		NcclRange range, in, out;
		g_autofree char *text = NULL;

		g_assert_true(nccl_range_parse(cases[i].text, &range, NULL));
		g_assert_true(nccl_range_parse(cases[i].in, &in, NULL));
		g_assert_true(nccl_range_parse(cases[i].out, &out, NULL));
		text = nccl_range_format(&range);
		g_assert_cmpstr(text, ==, cases[i].range);
		g_assert_true(nccl_range_has(&range, in.raw));
		g_assert_false(nccl_range_has(&range, out.raw));
	}
}

static void test_bad_ranges(void)
{
	static const char *const bad[] = { "",	       "/",	    "10.0.0.0/33", "10.0.0.0/-1",
					   "10.0.0/8", "10.0.0.0/", "10.0.0.0/8x", " 10.0.0.0/8",
					   "::/129",   "eth0",	    "\"::1\"" };

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		NcclRange range;

		g_assert_false(nccl_range_parse(bad[i], &range, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
}

static void test_families(void)
{
	static const struct {
		const char *address;
		int family;
		gboolean link_local, hole;
	} cases[] = {
		{ "10.0.0.1", AF_INET, FALSE, FALSE },
		{ "::ffff:10.0.0.1", AF_INET, FALSE, FALSE },
		{ "ff0e::ffff:e000:1", AF_INET, FALSE, FALSE },
		{ "::", AF_INET6, FALSE, TRUE },
		{ "::1:2:3", AF_INET6, FALSE, FALSE },
		{ "fe80::1", AF_INET6, TRUE, FALSE },
		{ "fe80:1::1", AF_INET6, FALSE, FALSE },
		{ "169.254.0.1", AF_INET, FALSE, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		NcclRange address;

		g_assert_true(nccl_range_parse(cases[i].address, &address, NULL));
		g_test_message("%s", cases[i].address);
		g_assert_cmpint(nccl_gid_family(address.raw), ==, cases[i].family);
		g_assert_cmpint(nccl_gid_is_link_local(address.raw), ==, cases[i].link_local);
		g_assert_cmpint(nccl_gid_is_hole(address.raw), ==, cases[i].hole);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/gid/ranges", test_ranges),
	UNIT_TEST("/gid/what is not a range", test_bad_ranges),
	UNIT_TEST("/gid/families as NCCL has them", test_families),
	{ 0 },
};
