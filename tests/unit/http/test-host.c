/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/access/peer.h"
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
		g_assert_cmpint(http_host_is_local(table[i].host, table[i].node), ==,
				table[i].good);
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
	TEST(a_peer_is_an_address_or_a_network_of_one_host),
	{ 0 },
};
