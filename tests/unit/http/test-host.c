/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/access/peer.h"
#include "http/http.h"
#include "../support/unit.h"

static void test_loopback_is_asked_by_address_or_its_own_names(void)
{
	static const struct {
		const char *host, *node;
		gboolean good;
	} table[] = {
		{ "127.0.0.1", "gpu-7", TRUE },
		{ "127.0.0.1:9889", "gpu-7", TRUE },
		{ "10.1.2.3:9889", "gpu-7", TRUE },
		{ "[::1]", "gpu-7", TRUE },
		{ "[::1]:9889", "gpu-7", TRUE },
		{ "localhost", "gpu-7", TRUE },
		{ "LocalHost:9889", "gpu-7", TRUE },
		{ "localhost.", "gpu-7", TRUE },
		{ "rdmad.localhost", "gpu-7", TRUE },
		{ "gpu-7", "gpu-7", TRUE },
		{ "GPU-7:9889", "gpu-7", TRUE },
		{ "gpu-7", "gpu-7.example.com", TRUE },
		{ "gpu-7.example.com:1", "gpu-7.example.com", TRUE },
		{ "", "gpu-7", FALSE },
		{ ":", "gpu-7", FALSE },
		{ ":9889", "", FALSE },
		{ "[", "gpu-7", FALSE },
		{ "[]", "gpu-7", FALSE },
		{ "[::1]:evil", "gpu-7", FALSE },
		{ "[::1]evil", "gpu-7", FALSE },
		{ "localhost:evil", "gpu-7", FALSE },
		{ "::1", "gpu-7", FALSE },
		{ "evil.example:localhost", "gpu-7", FALSE },
		{ "[gpu-7]", "gpu-7", FALSE },
		{ "[127.0.0.1]", "gpu-7", FALSE },
		{ "[evil.example]", "gpu-7", FALSE },
		{ "evil.example", "gpu-7", FALSE },
		{ "evil.example:9889", "gpu-7", FALSE },
		{ "gpu-7.evil.example", "gpu-7", FALSE },
		{ "gpu-7.evil.example", "gpu-7.example.com", FALSE },
		{ "gpu-77", "gpu-7", FALSE },
		{ "localhost.evil.example", "gpu-7", FALSE },
		{ "127.0.0.1.evil.example", "gpu-7", FALSE },
		{ "xlocalhost", "gpu-7", FALSE },
		{ "0x7f.1", "gpu-7", FALSE },
		{ "127.1", "gpu-7", FALSE },
		{ "a@127.0.0.1", "gpu-7", FALSE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_test_message("%s at %s", table[i].host, table[i].node);
		g_assert_cmpint(http_host_is_local(table[i].host, table[i].node, NULL), ==,
				table[i].good);
	}
}

static void test_further_names_are_listed(void)
{
	static const struct {
		const char *host, *names;
		gboolean good;
	} table[] = {
		{ "rdmad.monitoring.svc:9443", "", FALSE },
		{ "rdmad.monitoring.svc:9443", "rdmad.monitoring.svc", TRUE },
		{ "RDMAD.Monitoring.SVC", "rdmad.monitoring.svc", TRUE },
		{ "rdmad.monitoring.svc.", "rdmad.monitoring.svc", TRUE },
		{ "rdmad.monitoring.svc", "Rdmad.Monitoring.Svc.", TRUE },
		{ "rdmad.monitoring.svc", "a.b,rdmad.monitoring.svc", TRUE },
		{ "vm.example.com", "vm.example.com", TRUE },
		{ "vm.example.com", "example.com", FALSE },
		{ "example.com", "vm.example.com", FALSE },
		{ "vm.example.com.evil.example", "vm.example.com", FALSE },
		{ "evilvm.example.com", "vm.example.com", FALSE },
		{ "vm.example.com:evil", "vm.example.com", FALSE },
		{ "vm.example.com", "*.example.com", TRUE },
		{ "VM.a.Example.com.:80", "*.example.com.", TRUE },
		{ "example.com", "*.example.com", FALSE },
		{ ".example.com", "*.example.com", FALSE },
		{ "evilexample.com", "*.example.com", FALSE },
		{ "vm.example.com.evil", "*.example.com", FALSE },
		{ "rdmad.monitoring.svc", "*.svc", TRUE },
		{ "[vm.example.com]", "vm.example.com", FALSE },
		{ "[2001:db8::1]:443", "vm.example.com", TRUE },
		{ "", "*.example.com", FALSE },
		{ "localhost", "vm.example.com", TRUE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_auto(GStrv) names = g_strsplit(table[i].names, ",", -1);

		g_test_message("%s, names %s", table[i].host, table[i].names);
		g_assert_cmpint(http_host_is_local(table[i].host, "vm", names), ==, table[i].good);
	}
}

static void test_a_listed_name_is_a_host_name(void)
{
	static const struct {
		const char *name;
		gboolean good;
	} table[] = {
		{ "rdmad.monitoring.svc", TRUE },
		{ "vm", TRUE },
		{ "vm.example.com.", TRUE },
		{ "my_node-7.example", TRUE },
		{ "10.0.0.1", TRUE },
		{ "*.svc", TRUE },
		{ "*.example.com", TRUE },
		{ "", FALSE },
		{ ".", FALSE },
		{ "*", FALSE },
		{ "*.", FALSE },
		{ "*.*.com", FALSE },
		{ "a*.example.com", FALSE },
		{ "*example.com", FALSE },
		{ "vm..example.com", FALSE },
		{ "vm.example.com..", FALSE },
		{ ".example.com", FALSE },
		{ "vm.example.com:443", FALSE },
		{ "https://vm.example.com", FALSE },
		{ "[::1]", FALSE },
		{ "::1", FALSE },
		{ "vm example", FALSE },
		{ "b\303\274cher.example", FALSE },
		{ "a123456789012345678901234567890123456789012345678901234567890123.example",
		  FALSE },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_test_message("%s", table[i].name);
		g_assert_cmpint(rdmad_http_host_check(table[i].name, &error), ==, table[i].good);
		g_assert_cmpint(error == NULL, ==, table[i].good);
	}
}

static HttpPeer peer_v4(const char *text)
{
	struct sockaddr_storage address = { .ss_family = AF_INET };
	HttpPeer peer;

	g_assert_cmpint(inet_pton(AF_INET, text, &((struct sockaddr_in *)&address)->sin_addr), ==,
			1);
	http_peer_set(&peer, &address);
	return peer;
}

static HttpPeer peer_v6(const char *text)
{
	struct sockaddr_storage address = { .ss_family = AF_INET6 };
	HttpPeer peer;

	g_assert_cmpint(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&address)->sin6_addr),
			==, 1);
	http_peer_set(&peer, &address);
	return peer;
}

static void test_a_peer_is_an_address_or_a_network_of_one_host(void)
{
	const HttpPeer a = peer_v4("192.0.2.1"), b = peer_v6("::ffff:192.0.2.1"),
		       other = peer_v4("192.0.2.2"), net = peer_v6("2001:db8:0:1::1"),
		       same_net = peer_v6("2001:db8:0:1:ffff::2"),
		       other_net = peer_v6("2001:db8:0:2::1");

	g_assert_true(http_peer_equal(&a, &b));
	g_assert_false(http_peer_equal(&a, &other));
	g_assert_true(http_peer_equal(&net, &same_net));
	g_assert_false(http_peer_equal(&net, &other_net));
	g_assert_false(http_peer_equal(&a, &net));
}

#define TEST(name) UNIT_TEST("/http-host/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(loopback_is_asked_by_address_or_its_own_names),
	TEST(further_names_are_listed),
	TEST(a_listed_name_is_a_host_name),
	TEST(a_peer_is_an_address_or_a_network_of_one_host),
	{ 0 },
};
