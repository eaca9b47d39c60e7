/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "ipam/ranges.h"
#include "support/ip.h"
#include "support/unit.h"

#include <linux/if_addr.h>

typedef struct {
	const char *name;
	const char *addresses[4]; /* of the NIC */
	const char *gateway;	  /* of a route over the NIC; NULL: none */
	const char *expected;	  /* ranges, or a part of the message */
	gboolean refused;
} Case;

static const Case cases[] = {
	{ "ipv4",
	  { "192.168.0.2/27" },
	  NULL,
	  "[[{'subnet':'192.168.0.0/27','rangeStart':'192.168.0.3'}]]" },
	{ "gateway",
	  { "192.168.0.2/27" },
	  "192.168.0.30",
	  "[[{'subnet':'192.168.0.0/27','rangeStart':'192.168.0.3','gateway':'192.168.0.30'}]]" },
	{ "gateway elsewhere",
	  { "192.168.0.2/27" },
	  "192.168.1.30",
	  "[[{'subnet':'192.168.0.0/27','rangeStart':'192.168.0.3'}]]" },
	{ "carry",
	  { "10.0.0.255/16" },
	  NULL,
	  "[[{'subnet':'10.0.0.0/16','rangeStart':'10.0.1.0'}]]" },
	{ "last but one",
	  { "192.168.0.29/27" },
	  NULL,
	  "[[{'subnet':'192.168.0.0/27','rangeStart':'192.168.0.30'}]]" },
	{ "ipv6",
	  { "fe80::1/64", "2001:db8::3/64" },
	  "fe80::2",
	  "[[{'subnet':'2001:db8::/64','rangeStart':'2001:db8::4'}]]" },
	{ "both families, the first of each",
	  { "10.1.0.9/24", "2001:db8::ffff/64", "10.2.0.9/24", "2001:db9::1/64" },
	  NULL,
	  "[[{'subnet':'10.1.0.0/24','rangeStart':'10.1.0.10'}],"
	  "[{'subnet':'2001:db8::/64','rangeStart':'2001:db8::1:0'}]]" },
	{ "broadcast", { "192.168.0.2/30" }, NULL, "subnet of eth7, 192.168.0.2/30,", TRUE },
	{ "end of ipv6", { "2001:db8::3/126" }, NULL, "subnet of eth7,", TRUE },
	{ "end of all", { "255.255.255.255/8" }, NULL, "subnet of eth7,", TRUE },
	{ "host", { "192.168.0.2/32" }, NULL, "subnet of eth7,", TRUE },
	{ "two hosts", { "192.168.0.2/31" }, NULL, "subnet of eth7,", TRUE },
	{ "none", { "fe80::1/64" }, NULL, "eth7 has no address", TRUE },
};

static void address_add(CniView *view, const char *link, const char *text, guint32 flags)
{
	const RdmadStepAddress address = { .link = g_strdup(link), .ip = ip(text), .flags = flags };

	g_array_append_val(view->addresses, address);
}

static CniView *view_make(const Case *one)
{
	CniView *view = cni_view_new();

	address_add(view, "eth0", "10.9.0.9/24", 0);
	address_add(view, "eth7", "2001:db8:f::1/64", IFA_F_TEMPORARY);
	for (guint i = 0; i < G_N_ELEMENTS(one->addresses) && one->addresses[i]; i++)
		address_add(view, "eth7", one->addresses[i], 0);
	if (one->gateway) {
		const CniViewRoute route = { .route = { .link = g_strdup("eth7"),
							.gateway = ip(one->gateway) },
					     .hops = 1 };

		g_array_append_val(view->routes, route);
	}
	return view;
}

static void test_ranges_are_behind_the_nics_own_addresses(gconstpointer data)
{
	const Case *one = data;
	g_autoptr(CniView) view = view_make(one);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = cni_ipam_ranges(view, "eth7", &error);

	if (one->refused) {
		g_assert_null(text);
		g_assert_error(error, CNI_ERROR, CNI_ERROR_ADDRESS);
		g_assert_nonnull(strstr(error->message, one->expected));
		return;
	}
	g_assert_no_error(error);
	g_strdelimit(text, "\"", '\'');
	g_assert_cmpstr(text, ==, one->expected);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/ranges", cases, test_ranges_are_behind_the_nics_own_addresses),
	{ 0 },
};
