/* SPDX-License-Identifier: Apache-2.0 */
/* The exact output of commands for handwritten responses of the API */
#include <string.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "../support/unit.h"

/* 2026-01-01T00:00:00Z and one hour */
#define NOW_US ((G_GINT64_CONSTANT(1767225600) + 3600) * G_USEC_PER_SEC)

static const RdmadTableStyle wide = { .headers = TRUE, .wide = TRUE };
static const RdmadTableStyle coloured = { .headers = TRUE, .colour = TRUE };

/* Parses JSON with ' instead of ", for legibility. */
static json_t *load(const char *text)
{
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(json, 0, &error);

	if (!value)
		g_error("%s at %d", error.text, error.position);
	return value;
}

static const char two_gpus[] =
	"{'gpus': [{'pci_address': '0000:1b:00.0', 'numa_node': 0},"
	"          {'pci_address': '0000:9d:00.0', 'numa_node': 1}],"
	" 'nics': [{'device_name': 'mlx5_0', 'numa_node': 0}, {'device_name': 'mlx5_1', "
	"'numa_node': 1},"
	"          {'device_name': 'rxe0', 'numa_node': null}],"
	" 'distances': [['X', 'SYS', 'PIX', 'SYS', 'SYS'], ['SYS', 'X', 'SYS', 'NODE', "
	"'SYS'],"
	"               ['PIX', 'SYS', 'X', 'SYS', 'SYS'], ['SYS', 'NODE', 'SYS', 'X', "
	"'SYS'],"
	"               ['SYS', 'SYS', 'SYS', 'SYS', 'X']],"
	" 'numa_cpus': {'0': '0-31', '1': '32-63'}}";

static void test_distances_to_gpus_fit_80_columns(void)
{
	json_t *topology = load(two_gpus);
	g_autoptr(GString) out = g_string_new(NULL);

	topology_write(topology, &rdmad_table_plain, out);
	g_assert_true(g_str_has_prefix(out->str, "NAME    GPU0  GPU1  NUMA\n"
						 "mlx5_0  PIX   SYS   0\n"
						 "mlx5_1  SYS   NODE  1\n"
						 "rxe0    SYS   SYS   -\n"
						 "\n"
						 "Legend:\n"));
	g_assert_true(g_str_has_suffix(out->str, "  GPU0: 0000:1b:00.0\n  GPU1: 0000:9d:00.0\n"));
	json_decref(topology);
}

static void test_the_wide_matrix_is_that_of_nvidia_smi(void)
{
	json_t *topology = load(two_gpus);
	g_autoptr(GString) out = g_string_new(NULL);

	topology_write(topology, &wide, out);
	g_assert_cmpstr(out->str, ==,
			"      GPU0  GPU1  NIC0  NIC1  NIC2  CPU Affinity  NUMA Affinity\n"
			"GPU0  X     SYS   PIX   SYS   SYS   0-31          0\n"
			"GPU1  SYS   X     SYS   NODE  SYS   32-63         1\n"
			"NIC0  PIX   SYS   X     SYS   SYS   0-31          0\n"
			"NIC1  SYS   NODE  SYS   X     SYS   32-63         1\n"
			"NIC2  SYS   SYS   SYS   SYS   X     -             -\n"
			"\n"
			"Legend:\n"
			"\n"
			"  X    = the same function\n"
			"  PIX  = at most one PCIe bridge between them\n"
			"  PXB  = several PCIe bridges, but no host bridge\n"
			"  PHB  = through a PCIe host bridge (the CPU)\n"
			"  NODE = through several host bridges of one NUMA node\n"
			"  SYS  = from one NUMA node to another\n"
			"\n"
			"GPU Legend:\n"
			"\n"
			"  GPU0: 0000:1b:00.0\n"
			"  GPU1: 0000:9d:00.0\n"
			"\n"
			"NIC Legend:\n"
			"\n"
			"  NIC0:  mlx5_0  GPU0 behind the same switch (PIX)\n"
			"  NIC1:  mlx5_1  no GPU behind the same switch\n"
			"  NIC2:  rxe0    no GPU behind the same switch\n");
	json_decref(topology);
}

static void test_without_gpus_the_matrix_is_that_of_the_nics(void)
{
	json_t *topology = load("{'gpus': [], 'nics': [{'device_name': 'rxe0', 'numa_node': null}],"
				" 'distances': [['X']], 'numa_cpus': {}}");
	g_autoptr(GString) out = g_string_new(NULL);

	topology_write(topology, &wide, out);
	g_assert_nonnull(strstr(out->str, "NIC0  X     -             -\n"));
	g_assert_true(g_str_has_suffix(out->str, "NIC Legend:\n\n  NIC0:  rxe0\n"));
	g_assert_null(strstr(out->str, "GPU Legend"));
	json_decref(topology);
}

static void test_devices_have_a_line_a_port(void)
{
	json_t *devices = load(
		"[{'device_name': 'mlx5_0', 'pci_address': '0000:18:00.0', 'driver': 'mlx5_core',"
		"  'transport': 'RoCE', 'numa_node': 0, 'firmware': '28.39', 'health': 'healthy', "
		"'role': 'nic',"
		"  'nearest_gpu': {'index': 3, 'distance': 'PXB'},"
		"  'ports': [{'number': 1, 'state': 'active', 'rate_mbps': 400000, 'netdev': "
		"'eth0',"
		"             'gids': [{}, {}]}]},"
		" {'device_name': 'mlx4_0', 'pci_address': null, 'health': 'healthy', 'role': "
		"'nic',"
		"  'rest_reason': 'its interface is not set up', 'netdevs':"
		"  [{'name': 'ib0'}], 'nearest_gpu': {'index': 0, 'distance': 'NODE'},"
		"  'ports': [{'number': 1, 'rate_mbps': 2500}, {'number': 2, 'rate_mbps': 100}]},"
		" {'device_name': 'broken', 'health': 'healthy', 'problems': ['fw_ver: "
		"Input/output "
		"error']},"
		" {'device_name': 'smi1', 'health': 'healthy', 'role': 'sub-device',"
		"  'role_reason': 'it is one of mlx5_0'},"
		" {'device_name': 'dead', 'fatal': true, 'health': 'unhealthy'}]");
	g_autoptr(GString) out = g_string_new(NULL);

	devices_write(devices, &wide, out);
	g_assert_cmpstr(
		out->str, ==,
		"NAME      PCI           ROLE        DRIVER     NETDEV  LINK  STATE   RATE  NUMA  "
		"GPU       GIDS  FIRMWARE  HEALTH\n"
		"mlx5_0    0000:18:00.0  nic         mlx5_core  eth0    RoCE  active  400G  0     "
		"GPU3 PXB  2     28.39     healthy\n"
		"mlx4_0/1  -             nic         -          ib0     -     -       2.5G  -     "
		"-         0     -         idle\n"
		"mlx4_0/2  -             nic         -          ib0     -     -       100M  -     "
		"-         0     -         idle\n"
		"broken    -             -           -          -       -     -       -     -     "
		"-         0     -         healthy\n"
		"smi1      -             sub-device  -          -       -     -       -     -     "
		"-         0     -         sub-device\n"
		"dead      -             -           -          -       -     -       -     -     "
		"-         0     -         unhealthy\n");
	json_decref(devices);
}

static void test_one_device_is_shown_with_its_gid_table(void)
{
	json_t *device = load(
		"{'device_name': 'mlx5_2', 'device_id': '0000:18:00.2', 'pci_role': 'vf', "
		"'vf_index': 1,"
		" 'pf_address': '0000:18:00.0', 'vendor': '0x15b3', 'pci_device_id': '0x101e',"
		" 'pci_path': ['pci0000:15', '0000:18:00.2'], 'numa_node': null,"
		" 'nearest_gpu': {'index': 0, 'pci_address': '0000:1b:00.0', 'distance': 'PIX'},"
		" 'chardevs': [{'kind': 'uverbs', 'path': '/dev/infiniband/uverbs2'}],"
		" 'problems': ['fw_ver: Input/output error'], 'verbs_problem': null,"
		" 'ports': [{'number': 1, 'link_layer': 'infiniband', 'state': 'active', 'lid': 7,"
		"            'transitions': 3, 'last_state_change': '2026-08-21T09:00:00.000Z',"
		"            'sm_lid': 1, 'pkey0': '0xffff', 'gids':"
		"            [{'index': 0, 'gid': 'fe80::1', 'type': 'IB', 'netdev': null}]}],"
		" 'netdevs': [{'name': 'ib0', 'mtu': 4092, 'addresses': ['192.0.2.7/24', "
		"'::2/64']}]}");
	g_autoptr(GString) out = g_string_new(NULL);

	device_write(device, out);
	g_assert_cmpstr(out->str, ==,
			"mlx5_2\n"
			"  id              0000:18:00.2\n"
			"  PCI id          0x15b3:0x101e\n"
			"  function        virtual function 1 of 0000:18:00.0\n"
			"  PCI path        pci0000:15 / 0000:18:00.2\n"
			"  nearest GPU     GPU0 at 0000:1b:00.0 (PIX)\n"
			"  uverbs          /dev/infiniband/uverbs2\n"
			"  problem         fw_ver: Input/output error\n"
			"\n"
			"port 1\n"
			"  link layer      infiniband\n"
			"  state           active\n"
			"  state changes   3, the last 2026-08-21T09:00:00.000Z\n"
			"  LID             7\n"
			"  SM LID          1\n"
			"  default P_Key   0xffff\n"
			"  INDEX  GID      TYPE  NETDEV\n"
			"  0      fe80::1  IB    -\n"
			"\n"
			"interface ib0\n"
			"  MTU             4092\n"
			"  addresses       192.0.2.7/24, ::2/64\n");
	json_decref(device);
}

static void test_names_of_one_device_control_no_terminal(void)
{
	json_t *device =
		load("{'device_name': 'mlx\\u001b[2J', 'netdevs': [{'name': 'e\\u009b2J'}]}");
	g_autoptr(GString) out = g_string_new(NULL);

	device_write(device, out);
	g_assert_cmpstr(out->str, ==, "mlx\\x1b[2J\n\ninterface e\\x9b2J\n");
	json_decref(device);
}

static void test_the_limits_of_a_device_are_shown_when_known(void)
{
	json_t *device = load(
		"{'device_name': 'mlx5_0', 'limits': {'max_qp': 131072, 'max_qp_wr': 32768, "
		"'max_sge': 30,"
		"  'max_cq': 16777216, 'max_cqe': 4194303, 'max_mr': 16777215,"
		"  'max_mr_size': '0xffffffffffffffff', 'page_size_cap': '0xfffffffffffff000',"
		"  'max_pd': 8388608, 'max_srq': 65536, 'max_ah': 4294967295, 'phys_port_cnt': 1,"
		"  'atomic_cap': 'hca', 'paging': 'implicit'},"
		" 'ports': [{'number': 1, 'limits': {'gid_tbl_len': 255, 'max_msg_sz': 1073741824,"
		"             'max_mtu': 4096}},"
		"           {'number': 2, 'limits': null},"
		"           {'number': 3, 'limits': {'max_msg_sz': 1025, 'max_mtu': null}}]}");
	g_autoptr(GString) out = g_string_new(NULL);

	device_write(device, out);
	g_assert_cmpstr(out->str, ==,
			"mlx5_0\n"
			"\n"
			"limits\n"
			"  QPs             131072, each of 32768 WRs of 30 SGEs\n"
			"  CQs             16777216, each of 4194303 CQEs\n"
			"  SRQs            65536\n"
			"  MRs             16777215, each of any size\n"
			"  PDs             8388608\n"
			"  AHs             4294967295\n"
			"  page sizes      0xfffffffffffff000\n"
			"  atomics         hca\n"
			"  paging          implicit\n"
			"\n"
			"port 1\n"
			"  largest MTU     4096\n"
			"  largest message 1 GiB\n"
			"  GID entries     255\n"
			"\n"
			"port 2\n"
			"\n"
			"port 3\n"
			"  largest message 1025\n");
	json_decref(device);
}

static void test_the_size_of_a_region_is_exact(void)
{
	static const struct {
		const char *size, *line;
	} table[] = {
		{ "0x8000000000", "  MRs             7, each of 512 GiB\n" },
		{ "0x8000000000000000", "  MRs             7, each of 8 EiB\n" },
		{ "0xfffff000", "  MRs             7, each of 4194300 KiB\n" },
		{ "0x0", "  MRs             7\n" },
		{ "nonsense", "  MRs             7\n" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		json_t *device = json_pack("{s:s, s:{s:i, s:s}}", "device_name", "x", "limits",
					   "max_mr", 7, "max_mr_size", table[i].size);
		g_autoptr(GString) out = g_string_new(NULL);

		device_write(device, out);
		g_assert_nonnull(strstr(out->str, table[i].line));
		json_decref(device);
	}
}

static void test_allocations_count_the_slots_of_a_device(void)
{
	json_t *allocations = load(
		"[{'id': 'c1', 'resource': 'rdma/hca', 'slots': ['a', 'b', 'c'],"
		"  'device_ids': ['x', 'x', 'y'], 'device_names': ['mlx5_0', 'mlx5_0', null],"
		"  'namespace': 'ns', 'pod': 'p', 'container': 'm',"
		"  'since': '2026-01-01T00:00:00.000000Z', 'attachments': [{'interface': 'net1',"
		"  'device_name': 'mlx5_3', 'addresses': ['192.0.2.1/24']}],"
		"  'wrong_files': [{'path': '/dev/infiniband/uverbs0', 'reason': 'r'},"
		"  {'path': '/dev/infiniband/umad0', 'reason': 'r'}]},"
		" {'id': 'c2', 'resource': 'rdma/hca', 'slots': ['d'], 'device_ids': ['y'],"
		"  'device_names': ['mlx5_1'], 'pod': null, 'since': null, 'attachments': "
		"[]}]");
	g_autoptr(GString) out = g_string_new(NULL);

	allocations_write(allocations, NOW_US, &wide, out);
	g_assert_cmpstr(out->str, ==,
			"ALLOCATION  RESOURCE  DEVICES       POD   CONTAINER  SINCE  ATTACHMENTS"
			"                 WRONG FILES\n"
			"c1          rdma/hca  mlx5_0 x2, y  ns/p  m          1h 0m  net1 (mlx5_3) "
			"192.0.2.1/24  /dev/infiniband/uverbs0 /dev/infiniband/umad0\n"
			"c2          rdma/hca  mlx5_1        -     -          -      -"
			"                           -\n");
	json_decref(allocations);
}

static void test_status_shows_the_status_of_any_module(void)
{
	json_t *status = load(
		"{'version': '1.2', 'pid': 7, 'uptime_seconds': 90061, 'allocations': 3,"
		" 'instance': 'net/a\\u001b', 'other_instances': ['b (process 8)'],"
		" 'config': {'path': '/etc/x.conf', 'loaded': '2026-01-01T00:30:00.000000Z',"
		"            'error': '/etc/x.conf:3: no'},"
		" 'machine': {'live': true, 'kernel': '6.1'},"
		" 'listeners': [{'address': '/run/x.sock', 'public': false},"
		"   {'address': ':9889', 'public': true, 'tls': true, 'passwords': true,"
		"    'client_certificates': true, 'error': 'w.yml:1: no'},"
		"   {'address': '[::1]:80', 'public': true, 'tls': false, 'error': null}],"
		" 'devices': {'count': 2, 'active': 1, 'unhealthy': 0, 'gpus': 0},"
		" 'modules': [{'name': 'dp', 'state': 'running', 'error': null, 'status':"
		"   {'resources': [{'name': 'rdma/hca', 'last_error': null, 'devices': ['a', 'b']},"
		"                  {'name': 'rdma/x', 'last_error': 'no\\u001bne'}],"
		"    'kubelet': {'socket': true, 'pid': null}, 'streams': 2}},"
		"   {'name': 'm', 'state': 'failed', 'error': 'no socket', 'status': null}],"
		" 'recent_errors': [{'time': '2026-01-01T00:59:00.000000Z', 'level': 'warning',"
		"              'message': 'port 1: active -> down'}]}");
	g_autoptr(GString) out = g_string_new(NULL);

	status_write(status, NOW_US, TRUE, out);
	g_assert_cmpstr(out->str, ==,
			"rdmad          1.2, pid 7, up 1d 1h\n"
			"instance       net/a\\x1b\n"
			"               ANOTHER RDMAD WAITS: b (process 8)\n"
			"configuration  /etc/x.conf, loaded 30m ago\n"
			"               LAST RELOAD REFUSED: /etc/x.conf:3: no\n"
			"machine        this one, Linux 6.1\n"
			"listener       :9889, TLS, client certificates, passwords\n"
			"               WEB CONFIGURATION REFUSED: w.yml:1: no\n"
			"listener       [::1]:80\n"
			"devices        2 (1 active, 0 unhealthy), 0 GPUs\n"
			"allocations    3\n"
			"\n"
			"module dp: running\n"
			"  NAME      LAST ERROR  DEVICES\n"
			"  rdma/hca  -           a, b\n"
			"  rdma/x    no\\x1bne    -\n"
			"  kubelet: socket yes\n"
			"  streams: 2\n"
			"\n"
			"module m: failed: no socket\n"
			"\n"
			"last warnings and errors\n"
			"  1m  warning  port 1: active -> down\n");
	json_decref(status);
}

static void test_status_of_an_rdmad_without_an_instance(void)
{
	json_t *status = load("{'version': '1.1', 'pid': 7, 'uptime_seconds': 1}");
	g_autoptr(GString) out = g_string_new(NULL);

	status_write(status, NOW_US, TRUE, out);
	g_assert_null(strstr(out->str, "instance"));
	json_decref(status);
}

static void test_columns_without_a_value_are_verbose(void)
{
	json_t *status =
		load("{'modules': [{'name': 'dp', 'state': 'running', 'status':"
		     "  {'resources': [{'name': 'a', 'last_error': null, 'note': ''},"
		     "                 {'name': 'b', 'last_error': null, 'note': 'x'}]}}]}");
	static const struct {
		gboolean verbose;
		const char *lines;
	} cases[] = {
		{ FALSE, "  NAME  NOTE\n  a     -\n  b     x\n" },
		{ TRUE,
		  "  NAME  LAST ERROR  NOTE\n  a     -           -\n  b     -           x\n" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		status_write(status, NOW_US, cases[i].verbose, out);
		g_assert_nonnull(strstr(out->str, cases[i].lines));
	}
	json_decref(status);
}

static void test_doctor_returns_whether_there_is_a_problem(void)
{
	json_t *good =
		load("[{'level': 'ok', 'subject': 'kernel', 'text': 'Linux', 'advice': null},"
		     " {'level': 'note', 'subject': 'a', 'text': 'b', 'advice': 'do c'}]");
	json_t *bad = load("[{'level': 'problem', 'subject': 'a', 'text': 'b', 'advice': 'c'}]");
	g_autoptr(GString) good_out = g_string_new(NULL), bad_out = g_string_new(NULL);

	g_assert_false(doctor_write(good, TRUE, &wide, good_out));
	g_assert_cmpstr(good_out->str, ==,
			"NOTE    a: b\n"
			"        -> do c\n"
			"OK      kernel: Linux\n"
			"\n"
			"0 problems, 1 note, 1 passed\n");
	g_assert_true(doctor_write(bad, TRUE, &coloured, bad_out));
	g_assert_cmpstr(bad_out->str, ==,
			"\033[1;31mPROBLEM \033[0ma: b\n"
			"        -> c\n"
			"\n"
			"1 problem, 0 notes, 0 passed\n");
	json_decref(good);
	json_decref(bad);
}

static void test_doctor_has_problems_first_and_what_is_well_on_request(void)
{
	json_t *findings = load("[{'level': 'ok', 'subject': 'a', 'text': '1'},"
				" {'level': 'note', 'subject': 'b', 'text': '2'},"
				" {'level': 'problem', 'subject': 'c', 'text': '3'}]");
	g_autoptr(GString) out = g_string_new(NULL);

	g_assert_true(doctor_write(findings, FALSE, &wide, out));
	g_assert_cmpstr(out->str, ==,
			"PROBLEM c: 3\n"
			"NOTE    b: 2\n"
			"\n"
			"1 problem, 1 note, 1 passed (-v shows them)\n");
	json_decref(findings);
}

static void test_devices_of_one_moment_are_one_line(void)
{
	json_t *events =
		load("[{'kind': 'device-added', 'level': 'info', 'message': 'c10 (x), 1 port',"
		     "  'time': '2026-01-01T00:59:58.000Z'},"
		     " {'kind': 'device-added', 'level': 'info', 'message': 'c9 (x), 1 port',"
		     "  'time': '2026-01-01T00:59:58.000Z'},"
		     " {'kind': 'port', 'level': 'info', 'message': 'up',"
		     "  'time': '2026-01-01T00:59:59.000Z'}]");
	g_autoptr(GString) out = g_string_new(NULL);

	events_write(events, NOW_US, &rdmad_table_plain, out);
	g_assert_cmpstr(out->str, ==,
			"TIME     LEVEL    KIND            MESSAGE\n"
			"2s       info     device-added    2 devices: c9, c10\n"
			"1s       info     port            up\n");
	json_decref(events);
}

static void test_yaml_is_what_json_was(void)
{
	static const struct {
		const char *json, *yaml;
	} cases[] = {
		{ "{'name': 'x: y', 'list': [], 'no': null}",
		  "name: \"x: y\"\nlist: []\n\"no\": null\n" },
		{ "{'items': [{'id1': 1}, true]}", "items:\n  -\n    \"id1\": 1\n  - true\n" },
		{ "[]", "[]\n" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new(NULL);
		json_t *value = load(cases[i].json);

		command_write_yaml(value, out);
		g_assert_cmpstr(out->str, ==, cases[i].yaml);
		json_decref(value);
	}
}

static void test_doctor_shows_equal_advice_once(void)
{
	json_t *findings = load("[{'level': 'note', 'subject': 'a', 'text': '1', 'advice': 'x'},"
				" {'level': 'note', 'subject': 'a', 'text': '2', 'advice': 'x'},"
				" {'level': 'note', 'subject': 'b', 'text': '3', 'advice': 'x'}]");
	g_autoptr(GString) out = g_string_new(NULL);

	doctor_write(findings, TRUE, &wide, out);
	g_assert_cmpstr(out->str, ==,
			"NOTE    a: 1\n"
			"NOTE    a: 2\n"
			"        -> x\n"
			"NOTE    b: 3\n"
			"        -> x\n"
			"\n"
			"0 problems, 3 notes, 0 passed\n");
	json_decref(findings);
}

/* During an update, the API and the command line may have different versions. */
static void test_any_answer_can_be_shown(void)
{
	static const char *const table[] = { "{}",
					     "[]",
					     "null",
					     "[null]",
					     "[{}]",
					     "[[1]]",
					     "{'gpus': [1], 'nics': {}, 'modules': [[]]}" };

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *json = g_strdelimit(g_strdup(table[i]), "'", '"');
		json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
		g_autoptr(GString) out = g_string_new(NULL);

		g_assert_nonnull(value);
		devices_write(value, &wide, out);
		device_write(value, out);
		topology_write(value, &wide, out);
		topology_write(value, &rdmad_table_plain, out);
		allocations_write(value, NOW_US, &wide, out);
		status_write(value, NOW_US, TRUE, out);
		events_write(value, NOW_US, &wide, out);
		doctor_write(value, TRUE, &wide, out);
		json_decref(value);
	}
}

static void test_help_names_every_command(void)
{
	static const char *const names[] = { "status",	 "devices", "allocations",
					     "topology", "events",  "doctor" };

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_assert_true(rdmad_cli_is_command(names[i]));
		g_assert_nonnull(strstr(rdmad_cli_help(), names[i]));
	}
	g_assert_true(rdmad_cli_is_command("a-module-s"));
	g_assert_false(rdmad_cli_is_command(""));
	g_assert_false(rdmad_cli_is_command("--help"));
}

/* ---- commands of modules ---- */

static void test_a_module_s_rows_are_a_table(void)
{
	json_t *command =
		load("{'rows': 'resources', 'columns': [{'title': 'NAME', 'key': 'name'},"
		     " {'title': 'SELECTED', 'key': 'selected'}, {'title': 'WHY', 'key': 'why'},"
		     " {'title': 'N', 'key': 'n', 'wide': true}]}");
	json_t *answer = load("{'resources': ["
			      " {'name': 'rdma/a', 'selected': true, 'why': null, 'n': [1, 2]},"
			      " {'name': 'rdma/long', 'selected': false, 'why': 'netdevs: x'}]}");
	g_autoptr(GString) out = g_string_new(NULL), bare = g_string_new(NULL);

	module_command_write(command, answer, &wide, out);
	g_assert_cmpstr(out->str, ==,
			"NAME       SELECTED  WHY         N\n"
			"rdma/a     yes       -           1, 2\n"
			"rdma/long  no        netdevs: x  -\n");
	module_command_write(command, answer, &rdmad_table_bare, bare);
	g_assert_cmpstr(bare->str, ==,
			"rdma/a     yes       -\n"
			"rdma/long  no        netdevs: x\n");
	json_decref(command);
	json_decref(answer);
}

static void test_a_module_s_text_is_printed_as_it_is(void)
{
	json_t *command = load("{'rows': null, 'columns': []}");
	json_t *answer = load("{'text': 'NCCL_IB_HCA=mlx5_0\\n'}");
	json_t *nothing = load("{}");
	g_autoptr(GString) out = g_string_new(NULL);

	module_command_write(command, answer, &wide, out);
	module_command_write(command, nothing, &wide, out);
	g_assert_cmpstr(out->str, ==, "NCCL_IB_HCA=mlx5_0\n");
	json_decref(command);
	json_decref(answer);
	json_decref(nothing);
}

/* The response of a daemon of another version. */
static void test_an_invalid_description_does_no_harm(void)
{
	static const char *const commands[] = {
		"{'rows': 'x'}",
		"{'rows': 'x', 'columns': 5}",
		"{'rows': 7, 'columns': [{}]}",
		"{'rows': 'x', 'columns': [{}, 1, {'title': 2, 'key': 3}]}",
	};
	static const char *const answers[] = { "{'x': [{'a': 1}, 2]}", "{'x': 1}", "{'text': 1}" };

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		for (gsize k = 0; k < G_N_ELEMENTS(answers); k++) {
			json_t *command = load(commands[i]), *answer = load(answers[k]);
			g_autoptr(GString) out = g_string_new(NULL);

			module_command_write(command, answer, &wide, out);
			json_decref(command);
			json_decref(answer);
		}
}

#define TEST(name) UNIT_TEST("/commands/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(distances_to_gpus_fit_80_columns),
	TEST(the_wide_matrix_is_that_of_nvidia_smi),
	TEST(without_gpus_the_matrix_is_that_of_the_nics),
	TEST(devices_have_a_line_a_port),
	TEST(one_device_is_shown_with_its_gid_table),
	TEST(names_of_one_device_control_no_terminal),
	TEST(the_limits_of_a_device_are_shown_when_known),
	TEST(the_size_of_a_region_is_exact),
	TEST(allocations_count_the_slots_of_a_device),
	TEST(status_shows_the_status_of_any_module),
	TEST(status_of_an_rdmad_without_an_instance),
	TEST(columns_without_a_value_are_verbose),
	TEST(doctor_returns_whether_there_is_a_problem),
	TEST(doctor_has_problems_first_and_what_is_well_on_request),
	TEST(devices_of_one_moment_are_one_line),
	TEST(yaml_is_what_json_was),
	TEST(doctor_shows_equal_advice_once),
	TEST(any_answer_can_be_shown),
	TEST(help_names_every_command),
	TEST(a_module_s_rows_are_a_table),
	TEST(a_module_s_text_is_printed_as_it_is),
	TEST(an_invalid_description_does_no_harm),
	{ 0 },
};
