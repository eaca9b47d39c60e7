/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <rdmad/error.h>
#include <string.h>

#include "gid.h"
#include "hardware/machine.h"
#include "network.h"
#include "support/unit.h"

/* The format of Linux 6.12. */
#define FIB_TRIE                                                                                   \
	"Main:\n"                                                                                  \
	"  +-- 0.0.0.0/0 3 0 5\n"                                                                  \
	"     |-- 0.0.0.0\n"                                                                       \
	"        /0 universe UNICAST\n"                                                            \
	"     +-- 10.0.0.0/24 2 0 2\n"                                                             \
	"        +-- 10.0.0.0/29 2 0 2\n"                                                          \
	"           |-- 10.0.0.0\n"                                                                \
	"              /24 link UNICAST\n"                                                         \
	"           |-- 10.0.0.7\n"                                                                \
	"              /32 host LOCAL\n"                                                           \
	"        |-- 10.0.0.255\n"                                                                 \
	"           /32 link BROADCAST\n"                                                          \
	"     +-- 127.0.0.0/8 2 0 2\n"                                                             \
	"        |-- 127.0.0.0\n"                                                                  \
	"           /8 host LOCAL\n"                                                               \
	"        |-- 127.0.0.1\n"                                                                  \
	"           /32 host LOCAL\n"
#define IF_INET6                                                                                   \
	"20010db8000000000000000000000007 02 40 00 80     eth0\n"                                  \
	"fe800000000000000000000000000001 02 40 20 80     eth0\n"                                  \
	"20010db8000000000000000000000008 02 40 00 88     eth0\n" /* another host has it */        \
	"20010db8000000000000000000000009 02 40 00 e0     eth0\n" /* tentative and deprecated */   \
	"not an address\n"
#define ROUTE                                                                                      \
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"    \
	"eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"                             \
	"eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
#define IPV6_ROUTE                                                                                 \
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "                 \
	"fe800000000000000000000000000002 00000400 00000001 00000000 00000003     eth9\n"          \
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "                 \
	"00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"

static gboolean has(const NcclAddresses *addresses, const char *text)
{
	NcclRange address;

	g_assert_true(nccl_range_parse(text, &address, NULL));
	return nccl_addresses_have(addresses, address.raw);
}

static void test_read(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(NcclAddresses) addresses = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) defaults = NULL;
	g_autofree char *names = NULL;

	test_machine_put(machine, "proc/7/net/fib_trie", FIB_TRIE, -1);
	test_machine_put(machine, "proc/7/net/if_inet6", IF_INET6, -1);
	test_machine_put(machine, "proc/7/net/route", ROUTE, -1);
	test_machine_put(machine, "proc/7/net/ipv6_route", IPV6_ROUTE, -1);
	addresses = nccl_addresses_read(machine->root, "7", &error);
	g_assert_no_error(error);
	g_assert_true(has(addresses, "10.0.0.7"));
	g_assert_false(has(addresses, "10.0.0.0"));
	g_assert_false(has(addresses, "10.0.0.255"));
	g_assert_true(has(addresses, "2001:db8::7"));
	g_assert_true(has(addresses, "fe80::1"));
	g_assert_false(has(addresses, "2001:db8::8"));
	g_assert_true(has(addresses, "2001:db8::9"));
	g_assert_cmpuint(nccl_addresses_count(addresses), ==, 5);
	defaults = nccl_default_netdevs_read(machine->root, "7", NULL);
	names = g_strjoinv(",", defaults);
	g_assert_cmpstr(names, ==, "eth0,eth9");
}

#define ROUTE_HEAD                                                                                 \
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define IPV4_DEFAULT(name, flags, metric)                                                          \
	name "\t00000000\t0100000A\t" flags "\t0\t0\t" metric "\t00000000\t0\t0\t0\n"
#define ZEROES "00000000000000000000000000000000"
#define IPV6_DEFAULT(name, flags, metric)                                                          \
	ZEROES " 00 " ZEROES " 00 fe800000000000000000000000000002 " metric                        \
	       " 00000001 00000000 " flags "     " name "\n"

/* NCCL_SOCKET_IFNAME is the first one.  Linux shows `ip route add unreachable default` with the
 * interface "*", or lo for IPv6. */
static void test_defaults(void)
{
	static const struct {
		const char *route, *ipv6_route, *wanted;
	} cases[] = {
		{ IPV4_DEFAULT("eth1", "0003", "100") IPV4_DEFAULT("eth0", "0003", "200"), "",
		  "eth1,eth0" },
		{ IPV4_DEFAULT("eth1", "0003", "200") IPV4_DEFAULT("eth0", "0003", "100"), "",
		  "eth0,eth1" },
		{ IPV4_DEFAULT("eth1", "0003", "0") IPV4_DEFAULT("eth0", "0003", "0"), "",
		  "eth1,eth0" },
		/* Numbers that are negative as an int. */
		{ IPV4_DEFAULT("eth1", "0003", "-16769024") IPV4_DEFAULT("eth0", "0003", "9"), "",
		  "eth0,eth1" },
		{ IPV4_DEFAULT("eth1", "0003", "200") IPV4_DEFAULT("eth0", "0003", "150")
			  IPV4_DEFAULT("eth1", "0003", "100"),
		  "", "eth1,eth0" },
		{ IPV4_DEFAULT("eth0", "0003", "0") IPV4_DEFAULT("*", "0201", "4278198272"), "",
		  "eth0" },
		{ IPV4_DEFAULT("*", "0001", "0"), "", "" },
		{ IPV4_DEFAULT("eth0", "0201", "0") IPV4_DEFAULT("eth1", "0002", "0"), "", "" },
		{ IPV4_DEFAULT("eth9", "0003", "2000"),
		  IPV6_DEFAULT("eth1", "00000003", "00000400")
			  IPV6_DEFAULT("eth0", "00000003", "000000ff")
				  IPV6_DEFAULT("eth9", "00000003", "00000001"),
		  "eth9,eth0,eth1" },
		{ "",
		  IPV6_DEFAULT("eth0", "00200200", "ffffffff")
			  IPV6_DEFAULT("eth1", "00000203", "00000400")
				  IPV6_DEFAULT("lo", "00000003", "00000400"),
		  "" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TestMachine) machine = test_machine_new_empty();
		g_autofree char *route = g_strconcat(ROUTE_HEAD, cases[i].route, NULL);
		g_auto(GStrv) defaults = NULL;
		g_autofree char *names = NULL;

		g_test_message("case %u", i);
		test_machine_put(machine, "proc/7/net/route", route, -1);
		test_machine_put(machine, "proc/7/net/ipv6_route", cases[i].ipv6_route, -1);
		defaults = nccl_default_netdevs_read(machine->root, "7", NULL);
		names = g_strjoinv(",", defaults);
		g_assert_cmpstr(names, ==, cases[i].wanted);
	}
}

/* The best of any number of default routes are kept. */
static void test_many_defaults(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(GString) route = g_string_new(ROUTE_HEAD);
	g_auto(GStrv) defaults = NULL;

	for (guint i = 1000; i > 0; i--)
		g_string_append_printf(route, IPV4_DEFAULT("eth%u", "0003", "%u"), i, i);
	test_machine_put(machine, "proc/7/net/route", route->str, -1);
	defaults = nccl_default_netdevs_read(machine->root, "7", NULL);
	g_assert_cmpuint(g_strv_length(defaults), ==, 64);
	g_assert_cmpstr(defaults[0], ==, "eth1");
	g_assert_cmpstr(defaults[63], ==, "eth64");
}

/* A kernel without IPv6 has no if_inet6; an ended process has no files. */
static void test_missing(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(GError) error = NULL;
	g_autoptr(NcclAddresses) addresses = nccl_addresses_read(machine->root, "7", &error);
	g_auto(GStrv) defaults = nccl_default_netdevs_read(machine->root, "7", NULL);

	g_assert_null(addresses);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_cmpuint(g_strv_length(defaults), ==, 0);
	test_machine_put(machine, "proc/7/net/fib_trie", FIB_TRIE, -1);
	addresses = nccl_addresses_read(machine->root, "7", NULL);
	g_assert_cmpuint(nccl_addresses_count(addresses), ==, 2);
}

/* Larger than an attribute of sysfs: a node with a thousand pods. */
static void test_large(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(NcclAddresses) addresses = NULL;
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < 4000; i++)
		g_string_append_printf(text, "     |-- 10.1.%u.%u\n        /32 host LOCAL\n",
				       i / 250, i % 250);
	test_machine_put(machine, "proc/self/net/fib_trie", text->str, -1);
	addresses = nccl_addresses_read(machine->root, "self", NULL);
	g_assert_cmpuint(nccl_addresses_count(addresses), ==, 4000);
}

/* A pod with CAP_NET_ADMIN can have any number of addresses and routes. */
static void test_limit(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(NcclAddresses) most = NULL;
	g_autoptr(NcclAddresses) more = NULL;
	g_autoptr(GError) error = NULL;

	/* Each is in two tables. */
	for (guint i = 0; i < 2 * 16384; i++)
		g_string_append_printf(text, "     |-- 10.1.%u.%u\n        /32 host LOCAL\n",
				       (i / 256) % 64, i % 256);
	test_machine_put(machine, "proc/7/net/fib_trie", text->str, -1);
	most = nccl_addresses_read(machine->root, "7", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(nccl_addresses_count(most), ==, 16384);
	test_machine_put(machine, "proc/7/net/if_inet6", IF_INET6, -1);
	more = nccl_addresses_read(machine->root, "7", &error);
	g_assert_null(more);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_assert_cmpstr(error->message, ==, "proc/7/net/if_inet6: more than 16384 addresses");
}

/* A container shares the addresses of its pod, until it adds one that the pod has not. */
static void test_shared(void)
{
	g_autoptr(NcclAddresses) addresses = nccl_addresses_new();
	g_autoptr(NcclAddresses) own = NULL;

	g_assert_true(nccl_addresses_add(&addresses, "10.0.0.7/24", NULL));
	own = nccl_addresses_ref(addresses);
	g_assert_true(nccl_addresses_add(&own, "10.0.0.7", NULL));
	g_assert_true(own == addresses);
	g_assert_true(nccl_addresses_add(&own, "10.0.0.3", NULL));
	g_assert_false(nccl_addresses_equal(own, addresses));
	g_assert_true(has(own, "10.0.0.7") && has(own, "10.0.0.3"));
	g_assert_cmpuint(nccl_addresses_count(addresses), ==, 1);
}

/* A temporary error says nothing about the addresses and routes. */
static void test_unreadable(void)
{
	static const char *const files[] = { "fib_trie", "if_inet6", "route", "ipv6_route" };

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autoptr(TestMachine) machine = test_machine_new_empty();
		g_autoptr(GError) error = NULL;
		g_autofree char *below = g_strdup_printf("proc/7/net/%s/x", files[i]);

		g_test_message("%s", files[i]);
		/* A directory in place of the file. */
		test_machine_put(machine, below, "", -1);
		if (i > 0)
			test_machine_put(machine, "proc/7/net/fib_trie", FIB_TRIE, -1);
		g_assert_null(nccl_network_read(machine->root, "7", &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/addresses/of a namespace, and its default routes", test_read),
	UNIT_TEST("/addresses/default routes by their metric", test_defaults),
	UNIT_TEST("/addresses/the best of many default routes", test_many_defaults),
	UNIT_TEST("/addresses/what is not there", test_missing),
	UNIT_TEST("/addresses/of a node with thousands", test_large),
	UNIT_TEST("/addresses/more than are kept", test_limit),
	UNIT_TEST("/addresses/shared until one is added", test_shared),
	UNIT_TEST("/addresses/what cannot be read is an error", test_unreadable),
	{ 0 },
};
