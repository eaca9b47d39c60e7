/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/step.h>

#include <rdmad/error.h>
#include <string.h>

#include "../support/unit.h"

/* One step of each kind with every key, in the format of the event log. */
static const char *const samples[RDMAD_N_STEPS] = {
	[RDMAD_STEP_LINK_CREATE] =
		"{\"step\":\"link-create\",\"in\":\"pod\",\"kind\":\"macvlan\",\"parent_index\":7,"
		"\"parent\":\"ens1f0\",\"name\":\"eth1\",\"mode\":\"bridge\",\"vlan\":7,\"is_"
		"8021ad\":true,\"pkey\":5,"
		"\"mac\":\"02:00:00:00:00:01\",\"mtu\":4200}",
	[RDMAD_STEP_LINK_MOVE] =
		"{\"step\":\"link-move\",\"in\":\"host\",\"index\":7,\"host_name\":\"ens1f0\","
		"\"pod_name\":\"eth1\",\"pci\":\"0000:3b:00.0\",\"parent_device\":\"0000:3b:00.0\","
		"\"altnames\":[\"enp59s0f0\"],"
		"\"mtu\":4200,\"mac\":\"0c:42:a1:00:00:01\",\"up\":true,\"link_mode\":1,\"group\":"
		"7,"
		"\"is_marked\":true,\"addresses\":[{\"ip\":"
		"\"192.0.2.7/24\",\"peer\":\"192.0.2.8/24\",\"broadcast\":\"192.0.2.255\","
		"\"flags\":128,\"metric\":100,\"scope\":254,\"label\":\"ens1f0:1\"}],\"routes\":[{"
		"\"to\":\"0.0.0.0/0\",\"gateway\":\"192.0.2.1\",\"source\":\"192.0.2.7\","
		"\"table\":254,\"metric\":100,\"scope\":253,\"type\":1,\"protocol\":16,\"mtu\":"
		"1500,"
		"\"advmss\":1460,\"onlink\":true}],\"neighbours\":[{\"ip\":\"192.0.2.1\",\"mac\":"
		"\"0c:42:a1:00:00:02\"}],\"sysctls\":[{\"path\":\"net/ipv4/conf/ens1f0/rp_filter\","
		"\"value\":\"2\"}]}",
	[RDMAD_STEP_LINK_SET] =
		"{\"step\":\"link-set\",\"in\":\"pod\",\"goes_with_link\":true,\"link\":\"eth1\","
		"\"up\":\"on\",\"mtu\":1500,\"mac\":\"02:00:00:00:00:01\",\"up_before\":\"off\","
		"\"mtu_before\":9000,\"mac_before\":\"02:00:00:00:00:02\"}",
	[RDMAD_STEP_ALTNAME] = "{\"step\":\"altname\",\"in\":\"host\",\"link\":\"ens1f0\","
			       "\"name\":\"rail0\",\"remove\":true}",
	[RDMAD_STEP_SYSCTL] = "{\"step\":\"sysctl\",\"in\":\"pod\",\"path\":"
			      "\"net/ipv4/conf/eth1/arp_ignore\",\"value\":\"1\",\"before\":\"0\"}",
	[RDMAD_STEP_ADDRESS] =
		"{\"step\":\"address\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":"
		"\"2001:db8::7/64\",\"flags\":2,\"valid_s\":3600,\"preferred_s\":1800,"
		"\"remove\":true}",
	[RDMAD_STEP_ROUTE] = "{\"step\":\"route\",\"in\":\"pod\",\"link\":\"eth1\",\"to\":\"::/0\","
			     "\"gateway\":\"2001:db8::1\",\"table\":1001,\"remove\":true,"
			     "\"replace\":true}",
	[RDMAD_STEP_RULE] = "{\"step\":\"rule\",\"in\":\"pod\",\"family\":6,\"priority\":20001,"
			    "\"table\":1001,\"from\":\"2001:db8::7\",\"to\":\"2001:db8::/64\","
			    "\"iif\":\"lo\",\"oif\":\"eth1\",\"mark\":1,\"mask\":4294967295,"
			    "\"protocol\":4,\"remove\":true}",
	[RDMAD_STEP_NEIGHBOUR] = "{\"step\":\"neighbour\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":"
				 "\"192.0.2.1\",\"mac\":\"0c:42:a1:00:00:02\"}",
	[RDMAD_STEP_ANNOUNCE] = "{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":"
				"\"192.0.2.7\",\"count\":2}",
	[RDMAD_STEP_VF_SET] =
		"{\"step\":\"vf-set\",\"in\":\"host\",\"pf_index\":7,\"pf\":\"ens1f0\",\"vf\":3,"
		"\"pci\":\"0000:3b:00.5\",\"wanted\":{\"set\":255,\"mac\":\"02:00:00:00:00:01\","
		"\"vlan\":100,\"qos\":3,\"vlan_protocol\":33024,\"spoof_check\":true,\"trust\":"
		"true,"
		"\"min_rate\":1,\"max_rate\":1000,\"link_state\":2,\"node_guid\":"
		"\"0c42a10300654321\",\"port_guid\":\"0c42a10300654322\"},\"before\":{},"
		"\"rebind\":true}",
	[RDMAD_STEP_RDMA_MOVE] = "{\"step\":\"rdma-move\",\"in\":\"host\",\"index\":0,"
				 "\"host_name\":\"mlx5_0\",\"pod_name\":\"mlx5_9\",\"node_guid\":"
				 "\"0c42a10300654321\",\"pci\":\"0000:3b:00.0\"}",
	[RDMAD_STEP_WAIT_GID] = "{\"step\":\"wait-gid\",\"in\":\"host\",\"device\":\"mlx5_0\","
				"\"port\":1,\"link\":\"eth1\",\"ip\":\"192.0.2.7\","
				"\"timeout_ms\":2000}",
	[RDMAD_STEP_WAIT_LINK] = "{\"step\":\"wait-link\",\"in\":\"pod\",\"link\":\"eth1\","
				 "\"carrier\":true,\"addresses\":true,\"timeout_ms\":2000,"
				 "\"may_fail\":true}",
	[RDMAD_STEP_RDMA_BIND] = "{\"step\":\"rdma-bind\",\"in\":\"pod\",\"device\":\"mlx5_0\","
				 "\"port\":1,\"ip\":\"192.0.2.7\"}",
	[RDMAD_STEP_SMC] = "{\"step\":\"smc\",\"in\":\"pod\",\"eid\":\"RDMAD-1.X\",\"pnetid\":"
			   "\"00163E0A0B0C\",\"link\":\"eth0\",\"device\":\"erdma_0\"}",
};

static void test_every_kind_comes_back_as_it_was(void)
{
	for (guint kind = 0; kind < RDMAD_N_STEPS; kind++) {
		g_autofree char *before = g_strdup_printf("[%s]", samples[kind]);
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) steps = rdmad_steps_from_text(before, strlen(before), &error);
		g_autofree char *after = NULL;

		g_assert_no_error(error);
		after = rdmad_steps_to_text(steps);
		g_assert_cmpstr(after, ==, before);
		g_assert_cmpuint(((RdmadStep *)steps->pdata[0])->kind, ==, kind);
	}
}

static void test_a_damaged_row_names_its_step_and_key(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "byte 0: " },
		{ "{}", "not a list of at most 1536 steps" },
		{ "[1]", "step 1: no step \"\"" },
		{ "[{\"step\":\"reboot\"}]", "step 1: no step \"reboot\"" },
		{ "[{\"step\":\"route\"}]", "step 1: route: in: missing" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"to\":\"::/0\"}]",
		  "step 1: route: table: missing" },
		{ "[{\"step\":\"route\",\"in\":\"moon\"}]",
		  "step 1: route: in: not one of its words" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"to\":\"::/200\",\"table\":1}]",
		  "step 1: route: to: not an address" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"to\":\"::/0\",\"table\":-1}]",
		  "step 1: route: table: not a number, or out of bounds" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"to\":\"::/0\",\"table\":4294967296}]",
		  "step 1: route: table: not a number, or out of bounds" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"to\":\"::/0\",\"table\":1,\"tabel\":1}]",
		  "step 1: route: tabel: unknown key" },
		{ "[{\"step\":\"route\",\"in\":\"pod\",\"in\":\"host\"}]",
		  "byte 32: duplicate object key" },
		{ "[{\"step\":\"altname\",\"in\":\"host\",\"link\":\"a%d\",\"name\":\"b\"}]",
		  "step 1: altname: link: malformed" },
		{ "[{\"step\":\"sysctl\",\"in\":\"pod\",\"path\":\"net/../kernel/core_pattern\","
		  "\"value\":\"x\"}]",
		  "step 1: sysctl: path: malformed" },
		{ "[{\"step\":\"sysctl\",\"in\":\"pod\",\"path\":\"kernel/core_pattern/x\","
		  "\"value\":\"x\"}]",
		  "step 1: sysctl: path: malformed" },
		{ "[{\"step\":\"link-move\",\"in\":\"host\",\"index\":1,\"host_name\":\"a\","
		  "\"pod_name\":\"b\",\"mtu\":1,\"routes\":[{\"to\":\"::/0\",\"table\":1},{}]}]",
		  "step 1: link-move: routes 2: to: missing" },
		{ "[{\"step\":\"smc\",\"in\":\"host\",\"pnetid\":\"a-b\"}]",
		  "step 1: smc: pnetid: malformed" },
		{ "[{\"step\":\"smc\",\"in\":\"host\",\"eid\":\"A..B\"}]",
		  "step 1: smc: eid: malformed" },
		{ "[{\"step\":\"rdma-move\",\"in\":\"host\",\"index\":1,\"host_name\":\"../x\"}]",
		  "step 1: rdma-move: host_name: malformed" },
		{ "[{\"step\":\"rdma-move\",\"in\":\"host\",\"index\":1,\"host_name\":\"a\","
		  "\"node_guid\":\"0x12\"}]",
		  "step 1: rdma-move: node_guid: not 16 hexadecimal digits" },
		{ "[[[[[[[[[[]]]]]]]]]]", "byte 8: more than 8 levels deep" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) steps =
			rdmad_steps_from_text(cases[i].text, strlen(cases[i].text), &error);

		g_assert_null(steps);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_test_message("%s", error->message);
		g_assert_true(g_str_has_prefix(error->message, cases[i].message));
	}
}

static void test_too_many_steps_and_bytes_are_refused(void)
{
	g_autoptr(GString) text = g_string_new("[");
	g_autoptr(GError) few = NULL, large = NULL;

	for (guint i = 0; i <= RDMAD_STEPS_MAX; i++)
		g_string_append_printf(text, "%s%s", i ? "," : "", samples[RDMAD_STEP_ALTNAME]);
	g_string_append_c(text, ']');
	g_assert_null(rdmad_steps_from_text(text->str, text->len, &few));
	g_assert_error(few, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_assert_null(rdmad_steps_from_text(text->str, RDMAD_STEP_JSON_MAX + 1, &large));
	g_assert_error(large, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
}

static void test_a_step_is_described_by_its_name_its_object_and_its_place(void)
{
	g_autoptr(RdmadStep) step = rdmad_step_new(RDMAD_STEP_ADDRESS, RDMAD_STEP_IN_POD);
	g_autofree char *text = NULL;

	rdmad_ip_parse("192.0.2.7/24", &step->address.ip, NULL);
	text = rdmad_step_describe(step);
	g_assert_cmpstr(text, ==, "address 192.0.2.7/24 in the pod");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/step/round-trip", test_every_kind_comes_back_as_it_was),
	UNIT_TEST("/step/damaged", test_a_damaged_row_names_its_step_and_key),
	UNIT_TEST("/step/bounds", test_too_many_steps_and_bytes_are_refused),
	UNIT_TEST("/step/described", test_a_step_is_described_by_its_name_its_object_and_its_place),
	{ 0 },
};
