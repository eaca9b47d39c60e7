/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "error.h"
#include "request.h"
#include "support/unit.h"

#define POD    "CNI_CONTAINERID=c1|CNI_NETNS=/run/netns/a|CNI_IFNAME=eth1|CNI_PATH=/opt/cni/bin"
#define ADD    "CNI_COMMAND=ADD|" POD
#define ADD_OF "CNI_COMMAND=ADD|CNI_NETNS=/run/netns/a|"
#define DEL    "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=eth1|CNI_NETNS="
#define GC     "CNI_COMMAND=GC|CNI_CONTAINERID=|CNI_NETNS=|CNI_IFNAME="
#define NET    "{\"cniVersion\":\"1.1.0\",\"name\":\"rdma\",\"type\":\"rdmad-cni\""
#define LONG   "0123456789012345678901234567890123456789012345678901234567890123456789"

/* '|' stands for the NUL behind each variable. */
static CniRequest *parse(const char *environment, const char *input, GError **error)
{
	g_autofree char *block = g_strdup_printf("%s|", environment);
	const gsize length = strlen(block);

	for (gsize i = 0; i < length; i++)
		if (block[i] == '|')
			block[i] = '\0';
	return cni_request_parse(block, length, input, strlen(input), error);
}

/* Their ADD was refused. */
static void test_a_del_of_invalid_names_has_nothing_to_do(void)
{
	static const struct {
		const char *environment, *input;
	} cases[] = {
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=a%d", NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=..", NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=0123456789012345", NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=a b", NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=../x|CNI_IFNAME=eth1", NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1|CNI_IFNAME=\xff", NET "}" },
		{ DEL, "{\"cniVersion\":\"1.1.0\"}" },
		{ DEL, "{\"cniVersion\":\"1.1.0\",\"name\":\"../x\"}" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniRequest) request = parse(cases[i].environment, cases[i].input, &error);

		g_test_message("%s %s", cases[i].environment, cases[i].input);
		g_assert_no_error(error);
		g_assert_true(request->is_void);
	}
}

static void test_bad_input_gets_the_code_of_the_specification(void)
{
	static const struct {
		const char *environment, *input;
		int code; /* 0: the request is valid */
		const char *message;
	} cases[] = {
		/* ---- the command and its variables ---- */
		{ "A=b", NET "}", 4, "required env variables [CNI_COMMAND] missing" },
		{ "CNI_COMMAND=", NET "}", 4, "required env variables [CNI_COMMAND] missing" },
		{ "CNI_COMMAND=add", NET "}", 4, "unknown CNI_COMMAND \"add\"" },
		{ ADD, NET "}" },
		{ "CNI_COMMAND=ADD", NET "}", 4,
		  "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME] missing" },
		{ "CNI_COMMAND=ADD|CNI_CONTAINERID=c1|CNI_NETNS=|CNI_IFNAME=eth1", NET "}", 4,
		  "required env variables [CNI_NETNS] missing" },
		{ DEL, NET "}" },
		{ "CNI_COMMAND=DEL|CNI_CONTAINERID=c1", NET "}", 4,
		  "required env variables [CNI_IFNAME] missing" },
		{ "CNI_COMMAND=STATUS|CNI_CONTAINERID=|CNI_NETNS=|CNI_IFNAME=", NET "}" },
		/* ---- names that would be paths, templates or options ---- */
		{ ADD_OF "CNI_CONTAINERID=../x|CNI_IFNAME=eth1", NET "}", 4, "CNI_CONTAINERID" },
		{ ADD_OF "CNI_CONTAINERID=a/b|CNI_IFNAME=eth1", NET "}", 4, "CNI_CONTAINERID" },
		{ ADD_OF "CNI_CONTAINERID=-a|CNI_IFNAME=eth1", NET "}", 4, "CNI_CONTAINERID" },
		{ ADD_OF "CNI_CONTAINERID=\xc3\xa9|CNI_IFNAME=eth1", NET "}", 4,
		  "CNI_CONTAINERID" },
		{ ADD_OF "CNI_CONTAINERID=" LONG LONG LONG LONG "|CNI_IFNAME=eth1", NET "}", 4,
		  "CNI_CONTAINERID" },
		{ ADD_OF "CNI_CONTAINERID=c1|CNI_IFNAME=0123456789012345", NET "}", 4,
		  "CNI_IFNAME" },
		{ ADD_OF "CNI_CONTAINERID=c1|CNI_IFNAME=..", NET "}", 4, "CNI_IFNAME" },
		{ ADD_OF "CNI_CONTAINERID=c1|CNI_IFNAME=a%d", NET "}", 4, "CNI_IFNAME" },
		{ ADD_OF "CNI_CONTAINERID=c1|CNI_IFNAME=a b", NET "}", 4, "CNI_IFNAME" },
		{ ADD_OF "CNI_CONTAINERID=c1|CNI_IFNAME=a/b", NET "}", 4, "CNI_IFNAME" },
		{ "CNI_COMMAND=ADD|CNI_CONTAINERID=c1|CNI_IFNAME=eth1|CNI_NETNS=netns/a", NET "}",
		  4, "CNI_NETNS" },
		/* ---- CNI_ARGS ---- */
		{ ADD "|CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=p;X=Y=Z;", NET "}" },
		{ ADD "|CNI_ARGS=K8S_POD_NAME", NET "}", 4, "CNI_ARGS: \"K8S_POD_NAME\"" },
		{ ADD "|CNI_ARGS=K8S_POD_NAME=../p", NET "}", 4, "CNI_ARGS:" },
		{ ADD "|CNI_ARGS=MAC=zz", NET "}", 4, "CNI_ARGS: MAC" },
		{ DEL "|CNI_ARGS=K8S_POD_NAME", NET "}" },
		/* ---- standard input ---- */
		{ ADD, "", 6, "the network configuration: byte 0" },
		{ ADD, "{", 6, "the network configuration: byte" },
		{ ADD, "[]", 6, "the network configuration is not an object" },
		{ ADD, NET ",\"name\":\"other\"}", 6, "the network configuration: byte" },
		{ ADD, NET ",\"a\":\"\\u0000\"}", 6, "the network configuration: byte" },
		{ ADD, "{\"cniVersion\":1}", 6, "cniVersion: not a string" },
		{ ADD, "{\"cniVersion\":\"2.0.0\",\"name\":\"a\"}", 1, "cniVersion \"2.0.0\"" },
		{ ADD, "{\"cniVersion\":\"0.2.0\",\"name\":\"a\"}", 1, "cniVersion \"0.2.0\"" },
		{ ADD, "{\"name\":\"a\"}", 1, "cniVersion \"0.1.0\"" },
		{ "CNI_COMMAND=CHECK|" POD, "{\"cniVersion\":\"0.3.1\",\"name\":\"a\"}", 1,
		  "config version does not allow CHECK" },
		{ GC, "{\"cniVersion\":\"1.0.0\",\"name\":\"a\"}", 1,
		  "config version does not allow GC" },
		{ "CNI_COMMAND=STATUS", "{\"cniVersion\":\"1.0.0\",\"name\":\"a\"}", 1,
		  "config version does not allow STATUS" },
		{ "CNI_COMMAND=VERSION", "{\"cniVersion\":\"9.0.0\"}" },
		{ "CNI_COMMAND=VERSION", "nonsense" },
		{ ADD, "{\"cniVersion\":\"1.1.0\"}", 7, "name: the network has none" },
		{ ADD, "{\"cniVersion\":\"1.1.0\",\"name\":\"../x\"}", 7, "name: \"../x\"" },
		/* ---- its keys ---- */
		{ ADD, NET ",\"ipam\":{\"type\":\"../../sbin/reboot\"}}", 7, "ipam:" },
		{ ADD, NET ",\"ipam\":{\"subnet\":\"x\"}}", 7, "ipam:" },
		{ ADD, NET ",\"ipRangesSource\":\"pool\"}", 7, "ipRangesSource: \"pool\"" },
		{ ADD, NET ",\"ipam\":{}}" },
		{ ADD, NET ",\"runtimeConfig\":[]}", 7, "runtimeConfig: not an object" },
		{ ADD, NET ",\"runtimeConfig\":{\"mac\":\"zz\"}}", 7, "runtimeConfig: mac" },
		{ ADD, NET ",\"runtimeConfig\":{\"mac\":7}}", 7, "mac: not a string" },
		{ ADD, NET ",\"runtimeConfig\":{\"ips\":[\"x\"]}}", 7, "runtimeConfig: ips 1" },
		{ ADD, NET ",\"runtimeConfig\":{\"infinibandGUID\":\"1\"}}", 7,
		  "runtimeConfig: infinibandGUID" },
		{ ADD, NET ",\"runtimeConfig\":{\"deviceID\":{}}}", 7, "deviceID: not a string" },
		{ ADD, NET ",\"runtimeConfig\":{\"io.kubernetes.cri.pod-annotations\":7}}", 7,
		  "runtimeConfig: io.kubernetes.cri.pod-annotations" },
		{ ADD, NET ",\"mtu\":10}", 7, "mtu: not a number from 68 to 65535" },
		{ ADD, NET ",\"vlan\":4095}", 7, "vlan: not a number from 0 to 4094" },
		{ ADD, NET ",\"vlanQoS\":3}", 7, "vlanQoS: there is no vlan" },
		{ ADD, NET ",\"spoofchk\":\"perhaps\"}", 7, "spoofchk: \"perhaps\"" },
		{ ADD, NET ",\"min_tx_rate\":10,\"max_tx_rate\":5}", 7, "min_tx_rate: above" },
		{ ADD, NET ",\"pkey\":\"0x8000\"}", 7, "pkey:" },
		{ ADD, NET ",\"prevResult\":{\"ips\":[{\"address\":\"x\"}]}}", 6,
		  "prevResult: ips 1: address" },
		{ "CNI_COMMAND=CHECK|" POD, NET "}", 7, "prevResult: CHECK needs it" },
		/* Invalid values that a DEL does not need are ignored. */
		{ DEL, "{\"cniVersion\":\"2.0.0\",\"name\":\"a\"}" },
		{ DEL, "{\"name\":\"a\"}" },
		{ DEL, NET ",\"prevResult\":7,\"mtu\":\"x\",\"runtimeConfig\":[],\"ipam\":3}" },
		/* ---- GC: a list that is not whole frees nothing ---- */
		{ GC, NET ",\"cni.dev/valid-attachments\":[]}" },
		{ GC, NET ",\"cni.dev/attachments\":[]}" },
		{ GC, NET "}", 7, "cni.dev/valid-attachments: missing" },
		{ GC, NET ",\"cni.dev/valid-attachments\":null}", 7,
		  "cni.dev/valid-attachments: not a list" },
		{ GC, NET ",\"cni.dev/valid-attachments\":null,\"cni.dev/attachments\":[]}", 7,
		  "cni.dev/valid-attachments: not a list" },
		{ GC, NET ",\"cni.dev/valid-attachments\":{}}", 7,
		  "cni.dev/valid-attachments: not a list" },
		{ GC, NET ",\"cni.dev/valid-attachments\":[{}]}", 7,
		  "cni.dev/valid-attachments 1: no attachment" },
		{ GC,
		  NET
		  ",\"cni.dev/valid-attachments\":[{\"containerID\":\"a\",\"ifname\":\"b\"},7]}",
		  7, "cni.dev/valid-attachments 2: no attachment" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniRequest) request = parse(cases[i].environment, cases[i].input, &error);

		g_test_message("%.60s %s: %s", cases[i].environment, cases[i].input,
			       error ? error->message : "good");
		g_assert_nonnull(request);
		g_assert_cmpint(error ? cni_error_code(error) : 0, ==, cases[i].code);
		if (error)
			g_assert_true(g_str_has_prefix(error->message, cases[i].message));
	}
}

static void test_input_is_bounded(void)
{
	g_autofree char *large = g_strnfill(10u << 20, ' ');
	g_autofree char *deep = g_strnfill(100000, '[');
	const char *inputs[] = { large, deep };

	for (guint i = 0; i < G_N_ELEMENTS(inputs); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniRequest) request G_GNUC_UNUSED = parse(ADD, inputs[i], &error);

		g_assert_error(error, CNI_ERROR, CNI_ERROR_DECODE);
	}
}

static void test_an_environment_that_was_cut_off_is_refused(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request G_GNUC_UNUSED =
		cni_request_parse("CNI_COMMAND=AD", 14, NET "}", strlen(NET "}"), &error);

	g_assert_error(error, CNI_ERROR, CNI_ERROR_ENVIRONMENT);
}

static void test_an_error_is_told_in_the_version_of_the_caller(void)
{
	static const struct {
		const char *environment, *input;
		CniVersion version;
	} cases[] = {
		{ "A=b", "{\"cniVersion\":\"0.3.1\",\"name\":\"a\"}", CNI_0_3_1 },
		{ "CNI_COMMAND=ADD", "{\"cniVersion\":\"0.4.0\",\"name\":\"a\"}", CNI_0_4_0 },
		{ ADD, "{\"cniVersion\":\"1.0.0\",\"name\":\"\"}", CNI_1_0_0 },
		{ ADD, "{\"cniVersion\":\"9.9.9\",\"name\":\"a\"}", CNI_1_1_0 },
		{ ADD, "nonsense", CNI_1_1_0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniRequest) request = parse(cases[i].environment, cases[i].input, &error);

		g_assert_nonnull(error);
		g_assert_cmpint(request->version, ==, cases[i].version);
	}
}

static void test_the_parts_of_a_request_are_found(void)
{
	static const char environment[] =
		ADD "|CNI_ARGS=K8S_POD_UID=u-1;MAC=02:00:00:00:00:09;K8S_POD_NAMESPACE=ns;"
		    "IgnoreUnknown=1;K8S_POD_INFRA_CONTAINER_ID=c1;K8S_POD_NAME=pod-0"
		    "|TRACEPARENT=00-x";
	static const char input[] = NET
		",\"deviceID\":\"0000:3b:00.1\",\"pciBusID\":\"0000:3b:00.2\","
		"\"policy\":\"rails\",\"mode\":\"sriov\",\"resourceName\":\"rdma/rail\","
		"\"mtu\":4200,\"vlan\":100,\"vlanQoS\":3,\"vlanProto\":\"802.1ad\","
		"\"spoofchk\":\"off\",\"trust\":\"on\",\"link_state\":\"enable\","
		"\"min_tx_rate\":0,\"max_tx_rate\":1000,\"pkey\":\"0x8001\","
		"\"ipam\":{\"type\":\"host-local\"},\"runtimeConfig\":{"
		"\"deviceID\":\"0000:3b:00.0\",\"mac\":\"02:00:00:00:00:01\","
		"\"ips\":[\"192.0.2.7/24\",\"2001:db8::7/64\"],"
		"\"infinibandGUID\":\"0c:42:a1:00:00:65:43:21\","
		"\"CNIDeviceInfoFile\":\"/var/run/k8s.cni.cncf.io/devinfo/cni/n-c1_eth1\","
		"\"io.kubernetes.cri.pod-annotations\":{\"a\":\"b\","
		"\"k8s.volcengine.com/pod-networks\":\"[]\"}},"
		"\"prevResult\":{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"eth0\"}]}}";
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request = parse(environment, input, &error);
	char mac[RDMAD_MAC_TEXT], ip[RDMAD_IP_TEXT];

	g_assert_no_error(error);
	g_assert_cmpint(request->command, ==, CNI_ADD);
	g_assert_cmpstr(request->container_id, ==, "c1");
	g_assert_cmpstr(request->netns, ==, "/run/netns/a");
	g_assert_cmpstr(request->ifname, ==, "eth1");
	g_assert_cmpstr(request->path, ==, "/opt/cni/bin");
	g_assert_cmpstr(request->pod_namespace, ==, "ns");
	g_assert_cmpstr(request->pod_name, ==, "pod-0");
	g_assert_cmpstr(request->pod_uid, ==, "u-1");
	g_assert_cmpstr(g_environ_getenv(request->environment, "TRACEPARENT"), ==, "00-x");
	g_assert_cmpstr(request->network, ==, "rdma");
	g_assert_cmpstr(request->ipam_type, ==, "host-local");
	g_assert_cmpstr(request->device_id, ==, "0000:3b:00.0");
	g_assert_cmpstr(rdmad_mac_format(&request->mac, mac), ==, "02:00:00:00:00:01");
	g_assert_cmpuint(request->ips->len, ==, 2);
	g_assert_cmpstr(rdmad_ip_text(&g_array_index(request->ips, RdmadIp, 1), TRUE, ip), ==,
			"2001:db8::7/64");
	g_assert_cmpuint(request->guid, ==, G_GUINT64_CONSTANT(0x0c42a10000654321));
	g_assert_cmpstr(request->pod_networks, ==, "[]");
	g_assert_cmpstr(request->keys.policy, ==, "rails");
	g_assert_cmpstr(request->keys.mode, ==, "sriov");
	g_assert_cmpstr(request->keys.resource, ==, "rdma/rail");
	g_assert_cmpuint(request->keys.mtu, ==, 4200);
	g_assert_cmpint(request->keys.vlan, ==, 100);
	g_assert_cmpint(request->keys.vlan_qos, ==, 3);
	g_assert_cmpuint(request->keys.vlan_protocol, ==, 0x88a8);
	g_assert_cmpint(request->keys.spoof_check, ==, 0);
	g_assert_cmpint(request->keys.trust, ==, 1);
	g_assert_cmpint(request->keys.link_state, ==, 1);
	g_assert_cmpint(request->keys.min_rate, ==, 0);
	g_assert_cmpint(request->keys.max_rate, ==, 1000);
	g_assert_cmpuint(request->keys.pkey, ==, 0x8001);
	g_assert_cmpuint(request->previous->interfaces->len, ==, 1);
	g_assert_nonnull(json_object_get(request->config, "ipam"));
}

static void test_a_device_may_be_told_in_three_places(void)
{
	static const struct {
		const char *keys, *device_id;
	} cases[] = {
		{ "", NULL },
		{ ",\"deviceID\":\"\"", NULL },
		{ ",\"deviceID\":null", NULL },
		{ ",\"pciBusID\":\"c\"", "c" },
		{ ",\"pciBusID\":\"c\",\"deviceID\":\"b\"", "b" },
		{ ",\"pciBusID\":\"c\",\"deviceID\":\"b\",\"runtimeConfig\":{\"deviceID\":\"a\"}",
		  "a" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *input = g_strdup_printf(NET "%s}", cases[i].keys);
		g_autoptr(CniRequest) request = parse(ADD, input, NULL);

		g_assert_cmpstr(request->device_id, ==, cases[i].device_id);
	}
}

static void test_gc_has_the_attachments_that_stay(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request G_GNUC_UNUSED =
		parse(GC,
		      NET ",\"cni.dev/attachments\":[],\"cni.dev/valid-attachments\":["
			  "{\"containerID\":\"a\",\"ifname\":\"eth1\"},"
			  "{\"containerID\":\"b\",\"ifname\":\"eth2\"}]}",
		      &error);

	g_assert_no_error(error);
	g_assert_cmpuint(request->valid->len, ==, 2);
	g_assert_cmpstr(g_array_index(request->valid, CniAttachmentKey, 1).container_id, ==, "b");
	g_assert_cmpstr(g_array_index(request->valid, CniAttachmentKey, 1).ifname, ==, "eth2");
}

/* Makes one plugin's configuration of a list as libcni does, with the name and the version of the
 * list. */
static void assert_plugin_is_good(json_t *list, json_t *plugin)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request = NULL;
	char *text;

	json_object_set(plugin, "name", json_object_get(list, "name"));
	json_object_set(plugin, "cniVersion", json_object_get(list, "cniVersion"));
	text = json_dumps(plugin, 0);
	request = parse(ADD, text, &error);
	g_assert_no_error(error);
	free(text);
}

static void test_the_networks_of_contrib_are_good(void)
{
	g_autoptr(GDir) directory = g_dir_open(CONTRIB_DIR, 0, NULL);
	guint found = 0;

	for (const char *name; (name = g_dir_read_name(directory));) {
		g_autofree char *path = g_build_filename(CONTRIB_DIR, name, NULL);
		json_t *list = json_load_file(path, 0, NULL), *plugin;
		size_t i;

		g_assert_true(list || !g_str_has_suffix(name, ".conflist"));
		json_array_foreach(json_object_get(list, "plugins"), i, plugin)
		{
			const char *type = json_string_value(json_object_get(plugin, "type"));

			if (g_str_equal(type, "rdmad-cni")) {
				assert_plugin_is_good(list, plugin);
				found++;
			}
		}
		json_decref(list);
	}
	g_assert_cmpuint(found, ==, 3);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/request/void", test_a_del_of_invalid_names_has_nothing_to_do),
	UNIT_TEST("/request/codes", test_bad_input_gets_the_code_of_the_specification),
	UNIT_TEST("/request/bounds", test_input_is_bounded),
	UNIT_TEST("/request/cut-off", test_an_environment_that_was_cut_off_is_refused),
	UNIT_TEST("/request/version", test_an_error_is_told_in_the_version_of_the_caller),
	UNIT_TEST("/request/parts", test_the_parts_of_a_request_are_found),
	UNIT_TEST("/request/device", test_a_device_may_be_told_in_three_places),
	UNIT_TEST("/request/gc", test_gc_has_the_attachments_that_stay),
	UNIT_TEST("/request/contrib", test_the_networks_of_contrib_are_good),
	{ 0 },
};
