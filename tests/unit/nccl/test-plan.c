/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "gid.h"
#include "simulate.h"
#include "view-text.h"
#include "write.h"
#include "support/unit.h"

typedef struct {
	const char *name;
	const char *view;
	const char *version;  /* NULL: "any" */
	const char *settings; /* of the module; may be NULL */
	const char *plan;     /* in the format of plan_to_text() */
	const char *from; /* oldest version for which the plan is right, if not the requested one */
} Case;

#define QUIET "socket_ifname = \"\"; "

static NcclPlan *case_plan(const Case *c, const NcclView *view, const NcclSettings *settings)
{
	g_autofree char *warning = NULL;
	g_autoptr(GError) error = NULL;
	NcclVersions versions;

	nccl_versions_parse(c->version ? c->version : "any", &versions, &warning, &error);
	g_assert_no_error(error);
	return nccl_plan_new(view, versions, &settings->policy);
}

static void case_check(const Case *c)
{
	g_autoptr(NcclView) view = view_from_text(c->view);
	g_autoptr(NcclSettings) settings = settings_from_text(c->settings);
	g_autoptr(NcclPlan) plan = case_plan(c, view, settings);
	g_autofree char *text = plan_to_text(plan);
	g_autofree char *from = g_strdup_printf("2.%u", plan->versions.from);

	g_test_message("%s%s%s", c->name, plan->reason ? ": " : "",
		       plan->reason ? plan->reason : "");
	g_assert_cmpstr(text, ==, c->plan);
	g_assert_true((plan->refusal != NCCL_REFUSAL_NONE) == (plan->reason != NULL));
	if (c->from)
		g_assert_cmpstr(from, ==, c->from);
	for (guint minor = plan->versions.from; !plan->refusal && minor <= plan->versions.to;
	     minor++)
		g_assert_true(nccl_plan_holds(view, &settings->policy, plan->env, minor, NULL));
}

static void cases_check(const Case *cases, guint n)
{
	for (guint i = 0; i < n; i++)
		case_check(&cases[i]);
}

/* One RoCE port with the usual table: link-local, and an address of the namespace at 2 and 3. */
#define RAIL(name, net, address)                                                                   \
	name " net=" net " 0/v1/fe80::1 1/v2/fe80::1 2/v1/" address " 3/v2/" address "\n"
#define OWN(address) "address " address "\n"

/* ---- table 5.3 of the research, row by row ---- */

static const Case TABLE[] = {
	{ "RoCE v2 IPv4, equal index on all rails",
	  RAIL("mlx5_0", "eth0", "10.0.0.1") RAIL("mlx5_1", "eth1", "10.0.1.1") OWN("10.0.0.1")
		  OWN("10.0.1.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=3", .from = "2.18" },
	{ "with what is configured",
	  RAIL("mlx5_0", "eth0", "10.0.0.1") OWN("10.0.0.1") "default eth9\n",
	  .settings = "traffic_class = 106; service_level = 3; qps_per_connection = 4; "
		      "cross_nic = 0; net_gdr_level = \"PHB\"; pkey_index = 7;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3 NCCL_SOCKET_IFNAME==eth9 "
		  "NCCL_IB_TC=106 NCCL_IB_SL=3 NCCL_IB_QPS_PER_CONNECTION=4 NCCL_CROSS_NIC=0 "
		  "NCCL_NET_GDR_LEVEL=PHB" },
	{ "the index is that of v2, wherever that is",
	  "mlx5_0 net=eth0 0/v2/fe80::1 1/v1/fe80::1 2/v2/10.0.0.1 3/v1/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=2" },

	{ "rails with different index: one range that has both",
	  "mlx5_0 3/v1/10.0.0.1 4/v2/10.0.0.1\nmlx5_1 2/v1/10.0.0.3 3/v2/10.0.0.3\n" OWN("10.0.0.1")
		  OWN("10.0.0.3"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.0/30",
	  .from = "2.21" },
	{ "rails with different index, and a neighbour in each range that has both",
	  "mlx5_0 2/v1/10.0.0.2 3/v2/10.0.0.2 4/v1/10.0.0.1 5/v2/10.0.0.1\n"
	  "mlx5_1 2/v1/10.0.0.3 3/v2/10.0.0.3\n" OWN("10.0.0.1") OWN("10.0.0.3"),
	  .plan = "refused: no-setting" },
	{ "the same, with what most rails can have",
	  "mlx5_0 2/v1/10.0.0.2 3/v2/10.0.0.2 4/v1/10.0.0.1 5/v2/10.0.0.1\n"
	  "mlx5_1 2/v1/10.0.0.3 3/v2/10.0.0.3\n"
	  "mlx5_2 2/v1/10.0.0.5 3/v2/10.0.0.5\n" OWN("10.0.0.1") OWN("10.0.0.3") OWN("10.0.0.5"),
	  .settings = "allow_subset = true;",
	  .plan = "NCCL_IB_HCA==mlx5_1:1,mlx5_2:1 NCCL_IB_GID_INDEX=3" },
	{ "the largest subset is one of addresses",
	  "mlx5_0 4/v2/10.0.0.1\nmlx5_1 3/v2/10.0.0.3\n"
	  "mlx5_2 2/v2/10.0.1.9 5/v2/10.0.1.1\n" OWN("10.0.0.1") OWN("10.0.0.3") OWN("10.0.1.1"),
	  .settings = "allow_subset = true;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.0/30",
	  .from = "2.21" },
	{ "a range that misses a rail would leave it on index 0",
	  "mlx5_0 0/v2/10.0.0.9 3/v1/10.0.0.1 4/v2/10.0.0.1\nmlx5_1 2/v1/10.0.0.3 "
	  "3/v2/10.0.0.3\n" OWN("10.0.0.1") OWN("10.0.0.3"),
	  .plan = "refused: no-setting" },

	{ "NCCL 2.20 has no way for different indices",
	  "mlx5_0 3/v1/10.0.0.1 4/v2/10.0.0.1\nmlx5_1 2/v1/10.0.0.3 3/v2/10.0.0.3\n" OWN("10.0.0.1")
		  OWN("10.0.0.3"),
	  "2.20", .plan = "refused: no-setting" },
	{ "NCCL 2.20: the largest subset of one index",
	  "mlx5_0 3/v1/10.0.0.1 4/v2/10.0.0.1\nmlx5_1 2/v1/10.0.0.3 3/v2/10.0.0.3\n"
	  "mlx5_2 2/v1/10.0.0.5 3/v2/10.0.0.5\n" OWN("10.0.0.1") OWN("10.0.0.3") OWN("10.0.0.5"),
	  "2.20", "allow_subset = true;",
	  .plan = "NCCL_IB_HCA==mlx5_1:1,mlx5_2:1 NCCL_IB_GID_INDEX=3" },

	{ "2.21 to 2.25, types that cannot be read: the own address alone",
	  "mlx5_0 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n" OWN("10.0.0.2"), "2.21",
	  "gid_by = \"address\";",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.2/32" },
	{ "the same is right for all newer ones",
	  "mlx5_0 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n" OWN("10.0.0.2"),
	  .settings = "gid_by = \"address\";",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.2/32",
	  .from = "2.21" },
	{ "2.25, IPv6 behind a hidden index 0: the index",
	  "mlx5_0 2/v1/2001:db8::1 3/v2/2001:db8::1\n" OWN("2001:db8::1"), "2.25",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "2.25, IPv6 behind a hidden index 0: no address will do",
	  "mlx5_0 2/v1/2001:db8::1 3/v2/2001:db8::1\n" OWN("2001:db8::1"), "2.25",
	  "gid_by = \"address\";", .plan = "refused: no-setting" },

	{ "an index above 255 does not reach the queue pair",
	  "mlx5_0 300/v1/10.0.0.1 301/v2/10.0.0.1\n" OWN("10.0.0.1"), .plan = "refused: no-gid" },
	{ "index 255 does", "mlx5_0 254/v1/10.0.0.1 255/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=255" },

	{ "RoCE v2 IPv6", RAIL("mlx5_0", "eth0", "2001:db8::1") OWN("2001:db8::1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3", .from = "2.18" },
	{ "RoCE v2 IPv6, different indices",
	  "mlx5_0 0/v1/fe80::1 3/v1/2001:db8::1 4/v2/2001:db8::1\n"
	  "mlx5_1 0/v1/fe80::2 2/v1/2001:db8::3 3/v2/2001:db8::3\n" OWN("2001:db8::1")
		  OWN("2001:db8::3"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=-1 "
		  "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ROCE_VERSION_NUM=2 "
		  "NCCL_IB_ADDR_RANGE=2001:db8::/126",
	  .from = "2.21" },

	{ "link-local only", "mlx5_0 0/v1/fe80::1 1/v2/fe80::1\n" OWN("fe80::1"),
	  .plan = "refused: no-gid" },
	{ "link-local only, allowed", "mlx5_0 0/v1/fe80::1 1/v2/fe80::1\n" OWN("fe80::1"),
	  .settings = "allow_link_local = true;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=1" },

	{ "IPv4's link-local addresses are not routable either",
	  "mlx5_0 2/v1/169.254.33.7 3/v2/169.254.33.7\n" OWN("169.254.33.7"),
	  .plan = "refused: no-gid" },
	{ "the same, allowed", "mlx5_0 2/v1/169.254.33.7 3/v2/169.254.33.7\n" OWN("169.254.33.7"),
	  .settings = "allow_link_local = true;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "allowed, and a routable one is there",
	  "mlx5_0 3/v2/169.254.33.7 5/v2/10.0.0.1 7/v2/fe80:0:0:1::1\n" OWN("169.254.33.7")
		  OWN("10.0.0.1") OWN("fe80:0:0:1::1"),
	  .settings = "allow_link_local = true;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=5" },
	{ "by address: NCCL itself would take 169.254/16",
	  "mlx5_0 1/v2/169.254.33.7 3/v2/10.0.0.1\n" OWN("169.254.33.7") OWN("10.0.0.1"),
	  .settings = "gid_by = \"address\";",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.1/32" },
	{ "the whole of fe80::/10 is link-local", "mlx5_0 3/v2/fe80:0:0:1::1 5/v2/febf::1\n",
	  .plan = "refused: no-gid" },
	{ "a link-local GID that two ports have does not make them one",
	  "mlx5_0 3/v2/169.254.33.7\nmlx5_1 3/v2/169.254.33.7\n" OWN("169.254.33.7"),
	  .settings = "allow_link_local = true;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "unique local addresses are routable", "mlx5_0 3/v2/fd00::1\n" OWN("fd00::1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "what no interface has, with everything allowed",
	  "mlx5_0 0/v2/0.0.0.0 1/v2/127.0.0.1 2/v2/::1 3/v2/224.0.0.1 4/v2/ff02::1 5/v2/::\n",
	  .settings = "allow_link_local = true;", .plan = "refused: no-gid" },

	{ "InfiniBand: ports alone", "mlx5_0 ib 0/v1/fe80::1\nmlx5_1 ib 0/v1/fe80::2\n",
	  .settings = QUIET "service_level = 2; pkey_index = 1;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_SL=2 NCCL_IB_PKEY=1", .from = "2.18" },
	{ "InfiniBand needs no addresses", "mlx5_0 ib 0/v1/fe80::1\naddress none\n",
	  .plan = "NCCL_IB_HCA==mlx5_0:1" },

	{ "eRDMA in compat mode, different indices",
	  "erdma_0 driver=erdma 0/v1/fe80::1 1/v1/192.168.0.1 2/v2/192.168.0.1\n"
	  "erdma_1 driver=erdma 0/v1/192.168.0.2 1/v2/192.168.0.2\n" OWN("192.168.0.1")
		  OWN("192.168.0.2"),
	  .plan = "NCCL_IB_HCA==erdma_0:1,erdma_1:1 NCCL_IB_GID_INDEX=-1 "
		  "NCCL_IB_ADDR_FAMILY=AF_INET NCCL_IB_ROCE_VERSION_NUM=2 "
		  "NCCL_IB_ADDR_RANGE=192.168.0.0/30 NCCL_NET_GDR_LEVEL=SYS" },
	{ "eRDMA as iWARP", "erdma_0 iwarp 0/v1/16:3e01:20a::\n", .plan = "refused: no-device" },

	{ "a bond is one device",
	  "mlx5_bond_0 bond=bond0 net=ens1f0 0/v1/fe80::1 1/v2/fe80::1 2/v1/10.0.0.1%bond0 "
	  "3/v2/10.0.0.1%bond0\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_bond_0:1 NCCL_IB_GID_INDEX=3" },
	{ "slaves that both show the bond's GID are one",
	  RAIL("bnxt_re0", "ens1", "10.0.0.1") RAIL("bnxt_re1", "ens2", "10.0.0.1") OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==bnxt_re0:1 NCCL_IB_GID_INDEX=3" },

	{ "a shared device: the namespace's own GID, by its address",
	  "rxe0 0/v2/fe80::1%eth0 1/v2/10.0.0.1%eth0 2/v2/10.0.0.2%eth0 3/v2/10.0.0.3%eth0\n" OWN(
		  "10.0.0.3"),
	  .plan = "NCCL_IB_HCA==rxe0:1 NCCL_IB_GID_INDEX=3" },
	{ "a shared device, by address: the own one",
	  "rxe0 0/v2/fe80::1%eth0 1/v2/10.0.0.1%eth0 2/v2/10.0.0.2%eth0 3/v2/10.0.0.3%eth0\n" OWN(
		  "10.0.0.3"),
	  .settings = "gid_by = \"address\";",
	  .plan = "NCCL_IB_HCA==rxe0:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.3/32" },
	{ "a shared device with none of the namespace's addresses",
	  "rxe0 0/v2/fe80::1%eth0 1/v2/10.0.0.1%eth0\n" OWN("10.0.0.3"),
	  .plan = "refused: no-gid" },

	{ "an interface that was renamed: the kernel's table may still have the old name",
	  "mlx5_0 net=rail0 2/v1/10.0.0.1%eth0 3/v2/10.0.0.1%eth0\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "exclusive namespaces: the one device there, with its one address",
	  "mlx5_3 net=net1 0/v1/fe80::1 1/v2/fe80::1 2/v1/10.0.3.1 3/v2/10.0.3.1\n" OWN("10.0.3.1")
		  OWN("fe80::1"),
	  .plan = "NCCL_IB_HCA==mlx5_3:1 NCCL_IB_GID_INDEX=3" },
	{ "the same in two namespaces of one address: only the device differs",
	  "mlx5_3 net=net1 3/v2/10.0.3.1\n" OWN("10.0.3.1"), "2.20",
	  .plan = "NCCL_IB_HCA==mlx5_3:1 NCCL_IB_GID_INDEX=3" },

	{ "a switch's management function is no rail",
	  "mlx5_0 switch ib\nmlx5_1 ib\nmlx5_2 ib\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_1:1,mlx5_2:1" },
	{ "nothing but such functions", "mlx5_0 switch ib\n" OWN("10.0.0.1"),
	  .plan = "refused: no-device" },
	{ "only the port that was allocated",
	  "mlx4_0 net=ib0 ib port=2 ib without=1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx4_0:2" },
	{ "only what the container can open",
	  "mlx5_0 denied 3/v2/10.0.0.9\nmlx5_1 3/v2/10.0.0.1\nmlx5_10 denied 3/v2/10.0.0.8\n" OWN(
		  "10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "nothing that the container can open", "mlx5_0 denied 3/v2/10.0.0.9\n" OWN("10.0.0.9"),
	  .plan = "refused: no-device" },

	{ "storage and management on the host",
	  "host\ngpu 0\ngpu 1\ndefault eno1\n"
	  "mlx5_0 gpu=0 net=r0 3/v2/172.16.0.1\nmlx5_1 gpu=1 net=r1 3/v2/172.16.1.1\n"
	  "mlx5_2 net=s0 rate=800000 3/v2/10.9.0.1\nmlx5_3 net=eno1 3/v2/10.0.0.1\n" OWN(
		  "172.16.0.1") OWN("172.16.1.1") OWN("10.9.0.1") OWN("10.0.0.1"),
	  .settings = QUIET, .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "storage by its subnet, without GPUs",
	  "host\nmlx5_0 3/v2/172.16.0.1\nmlx5_2 rate=800000 3/v2/10.9.0.1\n" OWN("172.16.0.1")
		  OWN("10.9.0.1"),
	  .settings = "storage_subnets = \"10.9.0.0/16\";",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "by the configuration",
	  "host\nmlx5_0 3/v2/172.16.0.1\nmlx5_2 3/v2/10.9.0.1\n" OWN("172.16.0.1") OWN("10.9.0.1"),
	  .settings = "devices = \"!mlx5_2\";",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "the default route, when it is wanted",
	  "host\ndefault eno1\nmlx5_3 net=eno1 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .settings = QUIET "use_default_route = true;",
	  .plan = "NCCL_IB_HCA==mlx5_3:1 NCCL_IB_GID_INDEX=3" },
	{ "what was allocated is used, wherever it is",
	  "gpu 0\ndefault eno1\nmlx5_3 net=eno1 3/v2/10.0.0.1\nmlx5_0 gpu=0 3/v2/10.0.1.1\n" OWN(
		  "10.0.0.1") OWN("10.0.1.1"),
	  .settings = QUIET, .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1 NCCL_IB_GID_INDEX=3" },
	{ "the order is that of the GPUs",
	  "gpu 0\ngpu 1\nmlx5_0 gpu=1 3/v2/10.0.0.1\nmlx5_1 gpu=0 3/v2/10.0.1.1\n" OWN("10.0.0.1")
		  OWN("10.0.1.1"),
	  .plan = "NCCL_IB_HCA==mlx5_1:1,mlx5_0:1 NCCL_IB_GID_INDEX=3" },

	{ "the second port of two", "mlx4_0 net=ens6 down port=2 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx4_0:2 NCCL_IB_GID_INDEX=3" },
	{ "InfiniBand and RoCE", "mlx5_0 ib 0/v1/fe80::1\nmlx5_1 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "refused: mixed-link-layers" },
	{ "InfiniBand beside an adapter that nobody set up",
	  "host\nmlx5_0 ib 0/v1/fe80::1\nmlx5_4 net=eno1 0/v1/fe80::4 1/v2/fe80::4\n",
	  .plan = "NCCL_IB_HCA==mlx5_0:1" },
	{ "the other port of a mlx4 has no GID", "mlx4_0 ib 0/v1/fe80::1 port=2\n",
	  .plan = "NCCL_IB_HCA==mlx4_0:1" },
	{ "Omni-Path, and an adapter with RoCE v1 alone",
	  "hfi1_0 ib driver=hfi1 0/v1/fe80::1\nmlx5_0 2/v1/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==hfi1_0:1" },
	{ "an InfiniBand device whose name NCCL takes for two", "mlx5,0 ib 0/v1/fe80::1\n",
	  .plan = "refused: no-setting" },
	{ "InfiniBand of both", "mlx5_0 ib 0/v1/fe80::1\nmlx5_1 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .settings = "link_layer = \"infiniband\";", .plan = "NCCL_IB_HCA==mlx5_0:1" },
	{ "RoCE of both", "mlx5_0 ib 0/v1/fe80::1\nmlx5_1 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .settings = "link_layer = \"roce\";",
	  .plan = "NCCL_IB_HCA==mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "Data Direct is left to NCCL",
	  "mlx5_0 3/v2/10.0.0.1\nmlx5_0_dma 3/v2/10.0.0.2\n" OWN("10.0.0.1") OWN("10.0.0.2"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },

	/* Not in the table of devices. */
	{ "no device", "", .plan = "refused: no-device" },
	{ "the network is still to come: what is certain is the port",
	  RAIL("mlx5_0", "eth0", "10.0.0.1") "address none\n",
	  .plan = "refused: no-addresses NCCL_IB_HCA==mlx5_0:1" },
	{ "addresses that are not known are not matched", RAIL("mlx5_0", "eth0", "10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "one of two allocated rails has no GID of the namespace",
	  RAIL("mlx5_0", "eth0", "10.0.0.1") RAIL("mlx5_1", "eth1", "10.0.1.1") OWN("10.0.0.1"),
	  .plan = "refused: no-gid" },
	{ "the same, with the others",
	  RAIL("mlx5_0", "eth0", "10.0.0.1") RAIL("mlx5_1", "eth1", "10.0.1.1") OWN("10.0.0.1"),
	  .settings = "allow_subset = true;", .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "two software devices, while NCCL 2.20 to 2.23 may come",
	  "rxe0 soft 1/v2/10.0.0.1\nrxe1 soft 1/v2/10.0.1.1\n" OWN("10.0.0.1") OWN("10.0.1.1"),
	  .plan = "NCCL_IB_HCA==rxe0:1,rxe1:1 NCCL_IB_MERGE_NICS=0 NCCL_IB_GID_INDEX=1",
	  .from = "2.18" },
	{ "the best GIDs differ, others do not",
	  "mlx5_0 2/v2/10.0.0.1 5/v2/10.0.0.2\nmlx5_1 3/v2/10.0.1.1 5/v2/10.0.1.2\n" OWN("10.0.0.1")
		  OWN("10.0.0.2") OWN("10.0.1.1") OWN("10.0.1.2"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=5" },
	{ "a VLAN's GID is the second choice",
	  "mlx5_0 net=eth0 2/v2/10.9.0.1%eth0.9 3/v2/10.0.0.1\n" OWN("10.0.0.1") OWN("10.9.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "GIDs of the configured subnets alone",
	  "mlx5_0 net=eth0 2/v2/10.9.0.1%eth0.9 3/v2/10.0.0.1\n" OWN("10.0.0.1") OWN("10.9.0.1"),
	  .settings = "subnets = ( \"10.9.0.0/16\" );",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=2" },
	{ "IPv6 when it is wanted",
	  "mlx5_0 3/v2/10.0.0.1 5/v2/2001:db8::1\n" OWN("10.0.0.1") OWN("2001:db8::1"),
	  .settings = "family = \"ipv6\";", .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=5" },
	{ "the same GID twice: the first",
	  "mlx5_0 2/v1/10.0.0.1 3/v2/10.0.0.1 6/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "a table of holes", "mlx5_0\n" OWN("10.0.0.1"), .plan = "refused: no-gid" },
	{ "a GID of zeros", "mlx5_0 3/v2/:: 4/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=4" },
	{ "a device that its driver gave up", "mlx5_0 fatal 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "refused: no-device" },
	{ "an older NCCL is treated as 2.18", RAIL("mlx5_0", "eth0", "10.0.0.1") OWN("10.0.0.1"),
	  "2.4.8", .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3", .from = "2.18" },
	{ "an unknown newer one as the newest", RAIL("mlx5_0", "eth0", "10.0.0.1") OWN("10.0.0.1"),
	  "2.99.1", .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3", .from = "2.32" },
};

static void test_table(void)
{
	cases_check(TABLE, G_N_ELEMENTS(TABLE));
}

/* ---- the 23 defects of nccl_env.sh: those that a plan can have ----
 * 12 to 16, of shells, are in test-nccl-env.py; 18, speed, is a benchmark. */

#define TEN "mlx5_10 denied 3/v2/10.0.9.1\nmlx5_11 denied 3/v2/10.0.9.2\n"

static const Case DEFECTS[] = {
	{ "1: no \"=\" in NCCL_IB_HCA", TEN RAIL("mlx5_1", "eth0", "10.0.0.1") OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "2: two IPv4 addresses on one NIC",
	  "mlx5_0 net=eth0 2/v1/10.0.0.1 3/v2/10.0.0.1 4/v1/10.0.0.2 5/v2/10.0.0.2\n" OWN(
		  "10.0.0.1") OWN("10.0.0.2"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "3: rails with different index",
	  "mlx5_0 4/v2/10.0.0.1\nmlx5_1 3/v2/10.0.0.3\n" OWN("10.0.0.1") OWN("10.0.0.3"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET "
		  "NCCL_IB_ROCE_VERSION_NUM=2 NCCL_IB_ADDR_RANGE=10.0.0.0/30" },
	{ "4: IPv6", RAIL("mlx5_0", "eth0", "2001:db8::7") OWN("2001:db8::7"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "5: a GID that begins with 0000: is IPv6, until it is IPv4-mapped",
	  "mlx5_0 2/v2/::1:2:3 3/v2/10.0.0.1\n" OWN("::1:2:3") OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "6: InfiniBand", "mlx5_0 ib 0/v1/fe80::1\n", .plan = "NCCL_IB_HCA==mlx5_0:1" },
	{ "6: iWARP", "siw0 iwarp 0/?/ebc:c4d::\n", .plan = "refused: no-device" },
	{ "7, 8: a slow device first, a fast one for storage: the rate says nothing",
	  "a_slow rate=2500 3/v2/10.0.0.1\nmlx5_0 rate=400000 3/v2/10.0.1.1\n"
	  "mlx5_stor rate=800000 3/v2/10.9.0.1\n" OWN("10.0.0.1") OWN("10.0.1.1") OWN("10.9.0.1"),
	  .settings = "storage_subnets = ( \"10.9.0.0/16\" );",
	  .plan = "NCCL_IB_HCA==a_slow:1,mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "9: an interface that is down has a port that is down",
	  "mlx5_0 down 3/v2/10.0.0.1\n" OWN("10.0.0.1"), .plan = "refused: no-device" },
	{ "10: a type that cannot be read is not v2", "mlx5_0 3/?/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "refused: no-gid" },
	{ "11: a GID of an interface that this namespace has not",
	  "mlx5_0 3/v2/10.0.0.9%eth7\n" OWN("10.0.0.1"), .plan = "refused: no-gid" },
	{ "17: the first device has none, the second has",
	  "host\nmlx5_0 0/v1/fe80::1\nmlx5_1 3/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_1:1 NCCL_IB_GID_INDEX=3" },
	{ "19: a port that is INIT, of a device whose other port is active",
	  "mlx5_0 init 3/v2/10.0.0.1 port=2 3/v2/10.0.1.1\n" OWN("10.0.0.1") OWN("10.0.1.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:2 NCCL_IB_GID_INDEX=3" },
	{ "20: the same interface's name in two namespaces, a device of others",
	  "mlx5_0 2/v2/10.0.0.7%eth0 3/v2/10.0.0.1%eth0\nmlx5_1 denied 3/v2/10.0.1.1%eth0\n" OWN(
		  "10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" },
	{ "21: the version, traffic class and interface",
	  "mlx5_0 3/v2/10.0.0.1\ndefault eth0\n" OWN("10.0.0.1"), "2.27", "traffic_class = 160;",
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3 NCCL_SOCKET_IFNAME==eth0 "
		  "NCCL_IB_TC=160" },
	{ "22: mlx5_2 before mlx5_10",
	  "mlx5_10 3/v2/10.0.10.1\nmlx5_2 3/v2/10.0.2.1\n" OWN("10.0.2.1") OWN("10.0.10.1"),
	  .plan = "NCCL_IB_HCA==mlx5_2:1,mlx5_10:1 NCCL_IB_GID_INDEX=3" },
	{ "23: a GID that moved is seen", "mlx5_0 5/v2/10.0.0.1\n" OWN("10.0.0.1"),
	  .plan = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=5" },
};

static void test_defects(void)
{
	cases_check(DEFECTS, G_N_ELEMENTS(DEFECTS));
}

/* ---- every node of two or three ports ---- */

/* A kind of port, and whether it can be a rail when the addresses of the namespace are known, and
 * when they are not; `words` has %u for the port, the first %u being the name's. */
typedef struct {
	const char *name, *words;
	RdmadLinkLayer layer; /* UNKNOWN: no rail in any plan */
	gboolean usable, usable_unknown;
} PortKind;

static const PortKind KINDS[] = {
	{ "InfiniBand", "ib 0/v1/fe80::1", RDMAD_LINK_LAYER_INFINIBAND, TRUE, TRUE },
	{ "InfiniBand, an empty table", "ib net=ib0", RDMAD_LINK_LAYER_INFINIBAND, TRUE, TRUE },
	{ "InfiniBand, down", "ib down 0/v1/fe80::1", RDMAD_LINK_LAYER_UNKNOWN, FALSE, FALSE },
	{ "RoCE", "0/v2/fe80::1 2/v1/10.0.%u.1 3/v2/10.0.%u.1", RDMAD_LINK_LAYER_ETHERNET, TRUE,
	  TRUE },
	{ "RoCE of another namespace", "3/v2/10.9.%u.1", RDMAD_LINK_LAYER_ETHERNET, FALSE, TRUE },
	{ "RoCE, down", "down 3/v2/10.0.%u.1", RDMAD_LINK_LAYER_UNKNOWN, FALSE, FALSE },
	{ "link-local", "0/v1/fe80::1 1/v2/fe80::1", RDMAD_LINK_LAYER_ETHERNET, FALSE, FALSE },
	{ "169.254/16", "3/v2/169.254.%u.1", RDMAD_LINK_LAYER_ETHERNET, FALSE, FALSE },
	{ "RoCE v1", "2/v1/10.0.%u.1", RDMAD_LINK_LAYER_ETHERNET, FALSE, FALSE },
	{ "no GID", "net=eth0", RDMAD_LINK_LAYER_ETHERNET, FALSE, FALSE },
	{ "neither", "efa 0/v1/fe80::1", RDMAD_LINK_LAYER_UNKNOWN, FALSE, FALSE },
};

typedef struct {
	const PortKind *kinds[3];
	guint n;
	gboolean one_device;   /* the ports are those of one device */
	const char *addresses; /* "known", "unknown", "none" yet */
	const char *host;      /* "host\n" or "" */
	const char *settings, *version;
} Node;

static char *node_text(const Node *node)
{
	GString *text = g_string_new(node->host);

	for (guint i = 0; i < node->n; i++) {
		g_auto(GStrv) parts = g_strsplit(node->kinds[i]->words, "%u", -1);
		g_autofree char *number = g_strdup_printf("%u", i);
		g_autofree char *words = g_strjoinv(number, parts);

		if (i && node->one_device)
			g_string_append_printf(text, " port=%u %s", i + 1, words);
		else
			g_string_append_printf(text, "%smlx5_%u %s", i ? "\n" : "", i, words);
	}
	g_string_append_c(text, '\n');
	for (guint i = 0; i < node->n && g_str_equal(node->addresses, "known"); i++)
		g_string_append_printf(text, "address 10.0.%u.1\naddress 169.254.%u.1\n", i, i);
	if (g_str_equal(node->addresses, "none"))
		g_string_append(text, "address none\n");
	return g_string_free(text, FALSE);
}

static gboolean kind_is_usable(const Node *node, const PortKind *kind)
{
	if (kind->layer == RDMAD_LINK_LAYER_INFINIBAND)
		return TRUE;
	if (g_str_equal(node->addresses, "none"))
		return FALSE;
	return g_str_equal(node->addresses, "known") ? kind->usable : kind->usable_unknown;
}

/* Returns the refusal that the ports call for, and appends the ports to use. */
static const char *node_expected(const Node *node, GString *hca)
{
	guint infiniband = 0, roce = 0, without = 0;

	for (guint i = 0; i < node->n; i++) {
		const PortKind *kind = node->kinds[i];

		infiniband += kind->layer == RDMAD_LINK_LAYER_INFINIBAND;
		if (kind->layer == RDMAD_LINK_LAYER_ETHERNET)
			*(kind_is_usable(node, kind) ? &roce : &without) += 1;
	}
	for (guint i = 0; i < node->n; i++)
		if (node->kinds[i]->layer != RDMAD_LINK_LAYER_UNKNOWN &&
		    (infiniband ? node->kinds[i]->layer == RDMAD_LINK_LAYER_INFINIBAND
				: kind_is_usable(node, node->kinds[i]) ||
					  g_str_equal(node->addresses, "none")))
			g_string_append_printf(hca, "%smlx5_%u:%u", hca->len ? "," : "=",
					       node->one_device ? 0 : i,
					       node->one_device ? i + 1 : 1);
	if (infiniband)
		return roce ? "mixed-link-layers" : "none";
	if (!roce && !without)
		return "no-device";
	if (g_str_equal(node->addresses, "none"))
		return "no-addresses";
	return !roce || (without && !node->host[0] && !node->settings) ? "no-gid" : "none";
}

/* Every format, which reads every member of every rail. */
static void plan_write(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan)
{
	const NcclPlanLabel label = { "a1", 1 };
	g_autofree char *sh = nccl_write_sh(plan, &label);
	g_autofree char *conf = nccl_write_conf(plan, &label);
	g_autofree char *json = nccl_write_json_text(view, policy, plan, &label);
	g_autofree char *explanation = nccl_write_explanation(view, policy, plan);
	g_autofree char *versions = nccl_write_versions(view, policy, &label);
	g_autofree char *topology = nccl_write_topology(view, plan);

	g_assert_true(sh && conf && json && explanation && versions && topology);
}

static void node_check(const Node *node)
{
	g_autofree char *text = node_text(node);
	g_autoptr(NcclView) view = view_from_text(text);
	g_autoptr(NcclSettings) settings = settings_from_text(node->settings);
	g_autoptr(GString) hca = g_string_new(NULL);
	const char *refusal = node_expected(node, hca);
	g_autoptr(NcclPlan) plan = case_plan(&(Case){ .version = node->version }, view, settings);

	g_test_message("%s%s, NCCL %s:\n%s%s", node->addresses, node->settings ? " subset" : "",
		       node->version, text, plan->reason);
	g_assert_cmpstr(nccl_refusal_name(plan->refusal), ==, refusal);
	if (plan->refusal == NCCL_REFUSAL_NONE || plan->refusal == NCCL_REFUSAL_NO_ADDRESSES)
		g_assert_cmpstr(nccl_env_get(plan->env, "NCCL_IB_HCA"), ==, hca->str);
	else
		g_assert_cmpuint(plan->env->variables->len, ==, 0);
	for (guint i = 0; i < plan->n_selected && !plan->refusal; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);

		g_assert_cmpint(rail->port->link_layer, ==, plan->link_layer);
		g_assert_true((rail->gid != NULL) ==
			      (plan->link_layer == RDMAD_LINK_LAYER_ETHERNET));
	}
	for (guint i = plan->n_selected; i < plan->rails->len; i++)
		g_assert_cmpint(nccl_plan_rail(plan, i)->reason, !=, NCCL_RAIL_SELECTED);
	plan_write(view, &settings->policy, plan);
}

static void node_check_each(Node node)
{
	static const char *const versions[] = { "2.18", "2.20", "2.25", "any" };
	static const char *const addresses[] = { "known", "unknown", "none" };

	for (guint i = 0; i < 2 * 2 * 2 * 3; i++) {
		node.one_device = i & 1;
		node.host = i & 2 ? "host\n" : "";
		node.settings = i & 4 ? "allow_subset = true;" : NULL;
		node.addresses = addresses[i >> 3];
		/* Each version with each pair of kinds; three of them with one version in turn. */
		for (guint v = 0; v < G_N_ELEMENTS(versions); v++) {
			node.version = versions[v];
			if (node.n < 3 || v == i % G_N_ELEMENTS(versions))
				node_check(&node);
		}
	}
}

static void test_link_layers(void)
{
	const guint n = G_N_ELEMENTS(KINDS);

	for (guint a = 0; a < n; a++)
		for (guint b = 0; b < n; b++) {
			node_check_each((Node){ .kinds = { &KINDS[a], &KINDS[b] }, .n = 2 });
			for (guint c = b; c < n; c++)
				node_check_each((Node){
					.kinds = { &KINDS[a], &KINDS[b], &KINDS[c] }, .n = 3 });
		}
}

/* ---- many ---- */

static void test_many_ports(void)
{
	static const struct {
		guint ports;
		const char *version, *settings, *refusal;
		guint selected, from;
	} cases[] = {
		{ 16, "2.18", NULL, "none", 16, 18 },
		{ 16, "any", NULL, "none", 16, 18 },
		{ 17, "2.18", NULL, "too-many-ports", 17, 18 },
		{ 17, "2.18", "allow_subset = true;", "none", 16, 18 },
		/* 2.18 would omit the last one. */
		{ 17, "any", NULL, "none", 17, 19 },
		{ 32, "2.32", NULL, "none", 32, 32 },
		{ 33, "2.32", NULL, "too-many-ports", 33, 32 },
		{ 33, "any", "allow_subset = true;", "none", 32, 19 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) text = g_string_new(NULL);
		g_autoptr(NcclSettings) settings = settings_from_text(cases[i].settings);
		g_autoptr(NcclView) view = NULL;
		g_autoptr(NcclPlan) plan = NULL;

		for (guint n = 0; n < cases[i].ports; n++)
			g_string_append_printf(text, "mlx5_%u 3/v2/10.0.%u.1\naddress 10.0.%u.1\n",
					       n, n, n);
		view = view_from_text(text->str);
		plan = case_plan(&(Case){ .version = cases[i].version }, view, settings);
		g_test_message("%u ports, %s: %s", cases[i].ports, cases[i].version, plan->reason);
		g_assert_cmpstr(nccl_refusal_name(plan->refusal), ==, cases[i].refusal);
		g_assert_cmpuint(plan->n_selected, ==, cases[i].selected);
		g_assert_cmpuint(plan->versions.from, ==, cases[i].from);
	}
}

/* Full tables with a neighbour's GID before the own one, at different indices on each port: no
 * index and no range is right, which takes the maximum of attempts. */
static void test_full_tables(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(NcclSettings) settings = settings_from_text(NULL);
	g_autoptr(NcclView) view = NULL;
	g_autoptr(NcclPlan) plan = NULL;
	const gint64 began = g_get_monotonic_time();

	for (guint rail = 0; rail < 32; rail++) {
		g_string_append_printf(text, "mlx5_%u 0/v1/10.%u.255.1 1/v2/10.%u.255.1", rail,
				       rail, rail);
		for (guint index = 2; index < 256; index++)
			g_string_append_printf(text, " %u/%s/10.%u.%u.1", index,
					       index % 32 == rail ? "v2" : "v1", rail, index - 2);
		g_string_append_c(text, '\n');
		for (guint index = 2; index < 256; index++)
			g_string_append_printf(text, "address 10.%u.%u.1\n", rail, index - 2);
	}
	view = view_from_text(text->str);
	plan = nccl_plan_new(view, NCCL_ALL_VERSIONS, &settings->policy);
	g_test_message("%" G_GINT64_FORMAT " us", g_get_monotonic_time() - began);
	g_assert_cmpint(plan->refusal, ==, NCCL_REFUSAL_NO_SETTING);
}

/* Names of 63 bytes, 32 of them: longer than a line of nccl.conf. */
static void test_long_list(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(NcclSettings) settings = settings_from_text(NULL);
	g_autoptr(NcclView) view = NULL;
	g_autoptr(NcclPlan) plan = NULL;

	for (guint n = 0; n < 32; n++)
		g_string_append_printf(text, "a%059u 3/v2/10.0.%u.1\naddress 10.0.%u.1\n", n, n, n);
	view = view_from_text(text->str);
	plan = nccl_plan_new(view, NCCL_ALL_VERSIONS, &settings->policy);
	g_assert_cmpint(plan->refusal, ==, NCCL_REFUSAL_TOO_LONG);
	g_assert_cmpuint(plan->env->variables->len, ==, 0);
}

/* ---- every answer against every possible one ---- */

static char *random_view(GRand *rand)
{
	GString *text = g_string_new("address 10.0.0.1\naddress 10.0.0.6\naddress 10.0.1.1\n");
	const guint rails = g_rand_int_range(rand, 1, 4);

	for (guint r = 0; r < rails; r++) {
		g_string_append_printf(text, "mlx5_%u", r);
		for (guint index = 0; index < 6; index++) {
			static const char *const types[] = { "v1", "v2", "v2", "?" };
			static const char *const addresses[] = {
				"10.0.0.1", "10.0.0.6", "10.0.0.7",
				"10.0.1.1", "fe80::1",	"10.0.0.2"
			};

			/* Each rail has addresses that differ in one of the last bits. */
			if (g_rand_int_range(rand, 0, 4))
				g_string_append_printf(text, " %u/%s/%s", index,
						       types[g_rand_int_range(rand, 0, 4)],
						       addresses[g_rand_int_range(rand, 0, 6)]);
		}
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static gboolean env_is_right(const NcclView *view, const NcclPlan *plan, const NcclPolicy *policy,
			     NcclEnv *env, guint minor)
{
	g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);

	return outcomes->len == plan->n_selected && nccl_plan_holds(view, policy, env, minor, NULL);
}

/* Tries all indices, and all IPv4 ranges around all addresses. */
static gboolean any_setting_is_right(const NcclView *view, const NcclPlan *plan,
				     const NcclPolicy *policy, const char *hca, guint minor)
{
	static const char *const addresses[] = { "10.0.0.1", "10.0.0.6", "10.0.0.7", "10.0.1.1",
						 "10.0.0.2" };

	for (int index = 0; index < 6; index++) {
		g_autoptr(NcclEnv) env = nccl_env_new();

		nccl_env_set(env, "NCCL_IB_HCA", hca, "");
		nccl_env_set_int(env, "NCCL_IB_GID_INDEX", index, "");
		if (env_is_right(view, plan, policy, env, minor))
			return TRUE;
	}
	for (guint a = 0; minor > 20 && a < G_N_ELEMENTS(addresses); a++)
		for (int length = 0; length <= 32; length++) {
			g_autoptr(NcclEnv) env = nccl_env_new();

			nccl_env_set(env, "NCCL_IB_HCA", hca, "");
			nccl_env_set_int(env, "NCCL_IB_GID_INDEX", -1, "");
			nccl_env_take(env, "NCCL_IB_ADDR_RANGE",
				      g_strdup_printf("%s/%d", addresses[a], length), "");
			if (env_is_right(view, plan, policy, env, minor))
				return TRUE;
		}
	return FALSE;
}

static void test_no_better_answer(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(12);
	g_autoptr(NcclSettings) settings = settings_from_text(NULL);
	guint refused = 0, by_range = 0;

	for (guint i = 0; i < 3000; i++) {
		g_autofree char *text = random_view(rand);
		g_autoptr(NcclView) view = view_from_text(text);
		const guint minor = g_rand_int_range(rand, NCCL_OLDEST, NCCL_NEWEST + 1);
		g_autoptr(NcclPlan) plan =
			nccl_plan_new(view, (NcclVersions){ minor, minor }, &settings->policy);
		g_autoptr(NcclPlan) all = nccl_plan_new(view, NCCL_ALL_VERSIONS, &settings->policy);
		g_autoptr(GString) hca = g_string_new("=");

		/* So that nccl-versions.conf needs no plan for each. */
		if (all->refusal)
			g_assert_cmpint(plan->refusal, ==, all->refusal);
		for (guint r = 0; r < plan->n_selected; r++)
			g_string_append_printf(hca, "%s%s:1", r ? "," : "",
					       nccl_plan_rail(plan, r)->device->name);
		if (!plan->refusal)
			g_assert_true(
				env_is_right(view, plan, &settings->policy, plan->env, minor));
		else if (plan->refusal == NCCL_REFUSAL_NO_SETTING)
			g_assert_false(any_setting_is_right(view, plan, &settings->policy, hca->str,
							    minor));
		refused += plan->refusal == NCCL_REFUSAL_NO_SETTING;
		by_range += !plan->refusal && nccl_env_get(plan->env, "NCCL_IB_ADDR_RANGE");
	}
	g_test_message("%u refused, %u by range", refused, by_range);
	g_assert_cmpuint(refused, >, 20);
	g_assert_cmpuint(by_range, >, 20);
}

/* ---- siblings ---- */

static void test_siblings(void)
{
	static const struct {
		const char *view, *settings, *name, *value;
	} cases[] = {
#define ONE "rxe0 1/v2/10.0.0.1\n" OWN("10.0.0.1")
#define TWO "mlx5_0 4/v2/10.0.0.1\nmlx5_1 3/v2/10.0.0.3\n" OWN("10.0.0.1") OWN("10.0.0.3")
		{ ONE, "siblings = ( \"ucx\" );", "UCX_NET_DEVICES", "rxe0:1" },
		{ ONE, "siblings = ( \"ucx\" );", "UCX_IB_GID_INDEX", "1" },
		{ ONE, "siblings = ( \"ucx\" );", "UCX_IB_ROCE_SUBNETS", NULL },
		{ TWO, "siblings = ( \"ucx\" );", "UCX_IB_ROCE_SUBNETS", "10.0.0.0/30" },
		{ TWO, "siblings = ( \"ucx\" );", "UCX_IB_GID_INDEX", NULL },
		{ ONE, "siblings = ( \"ucx\" ); traffic_class = 106;", "UCX_IB_TRAFFIC_CLASS",
		  "106" },
		{ ONE, "siblings = ( \"nvshmem\" );", "NVSHMEM_ENABLE_NIC_PE_MAPPING", "1" },
		{ TWO, "siblings = ( \"nvshmem\" );", "NVSHMEM_HCA_LIST", "mlx5_0:1,mlx5_1:1" },
		{ TWO, "siblings = ( \"nvshmem\" );", "NVSHMEM_IB_ADDR_RANGE", "10.0.0.0/30" },
		{ ONE, "siblings = ( \"libfabric\" );", "FI_VERBS_DEVICE_NAME", "rxe0" },
		{ ONE, "siblings = ( \"libfabric\" );", "FI_VERBS_GID_IDX", "1" },
		{ TWO, "siblings = ( \"libfabric\" );", "FI_VERBS_DEVICE_NAME", NULL },
		{ ONE, "siblings = ( \"openmpi\" );", "OMPI_MCA_btl_openib_gid_index", "1" },
		{ ONE, NULL, "UCX_NET_DEVICES", NULL },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(NcclView) view = view_from_text(cases[i].view);
		g_autoptr(NcclSettings) settings = settings_from_text(cases[i].settings);
		g_autoptr(NcclPlan) plan =
			nccl_plan_new(view, NCCL_ALL_VERSIONS, &settings->policy);

		g_test_message("%s %s", cases[i].settings, cases[i].name);
		g_assert_cmpstr(nccl_env_get(plan->siblings, cases[i].name), ==, cases[i].value);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/plan/each row of the table", test_table),
	UNIT_TEST("/plan/no defect of nccl_env.sh", test_defects),
	UNIT_TEST("/plan/the ports are of one link layer, with a GID where that is needed",
		  test_link_layers),
	UNIT_TEST("/plan/more ports than NCCL takes", test_many_ports),
	UNIT_TEST("/plan/full tables", test_full_tables),
	UNIT_TEST("/plan/a list that no line can hold", test_long_list),
	UNIT_TEST("/plan/what is refused has no setting that would be right",
		  test_no_better_answer),
	UNIT_TEST("/plan/UCX, NVSHMEM, libfabric and Open MPI", test_siblings),
	{ 0 },
};
