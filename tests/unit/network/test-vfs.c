/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual functions in handmade messages, and their drivers in a handmade sysfs */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include "../hardware/netlink-message.h"
#include "../scratch.h"
#include "../support/unit.h"
#include "hardware/sysroot.h"
#include "network/network-private.h"
#include "network/perform.h"

static void message_start(Message *msg)
{
	const struct ifinfomsg info = { .ifi_index = 5 };

	message_init(msg, RTM_NEWLINK, &info, sizeof(info));
	message_add_text(msg, IFLA_IFNAME, "pf0");
}

static void add_vf(Message *msg, guint number, gboolean with_all)
{
	const gsize nest = message_begin(msg, IFLA_VF_INFO);
	const struct ifla_vf_mac mac = { number, { 2, 0, 0, 0, 0, (guint8)number } };
	const struct ifla_vf_vlan vlan = { number, 100, 3 };
	const struct ifla_vf_vlan_info qinq = { number, 200, 5, g_htons(ETH_P_8021AD) };
	const struct ifla_vf_rate rate = { number, 10, 25000 };
	const struct ifla_vf_spoofchk spoofchk = { number, 1 };
	const struct ifla_vf_trust trust = { number, G_MAXUINT32 };
	const struct ifla_vf_link_state state = { number, IFLA_VF_LINK_STATE_DISABLE };
	const struct ifla_vf_guid guid = { number, 0x1122334455667788 };
	gsize list;

	message_add_attr(msg, IFLA_VF_MAC, &mac, sizeof(mac));
	message_add_attr(msg, IFLA_VF_VLAN, &vlan, sizeof(vlan));
	if (with_all) {
		list = message_begin(msg, IFLA_VF_VLAN_LIST);
		message_add_attr(msg, IFLA_VF_VLAN_INFO, &qinq, sizeof(qinq));
		message_end(msg, list);
		message_add_attr(msg, IFLA_VF_RATE, &rate, sizeof(rate));
		message_add_attr(msg, IFLA_VF_SPOOFCHK, &spoofchk, sizeof(spoofchk));
		message_add_attr(msg, IFLA_VF_TRUST, &trust, sizeof(trust));
		message_add_attr(msg, IFLA_VF_LINK_STATE, &state, sizeof(state));
		message_add_attr(msg, IFLA_VF_IB_PORT_GUID, &guid, sizeof(guid));
	}
	message_end(msg, nest);
}

static void test_each_function_has_what_the_driver_says(void)
{
	g_autoptr(RdmadLink) link = NULL;
	const RdmadVf *vf;
	Message msg;
	gsize list;

	message_start(&msg);
	list = message_begin(&msg, IFLA_VFINFO_LIST);
	add_vf(&msg, 0, TRUE);
	add_vf(&msg, 7, FALSE);
	message_end(&msg, list);
	link = network_parse_link(&msg.hdr);
	g_assert_cmpuint(link->n_vfs, ==, 2);
	vf = &link->vfs[0];
	g_assert_cmpstr(vf->mac, ==, "02:00:00:00:00:00");
	g_assert_cmpuint(vf->vlan, ==, 200);
	g_assert_cmpuint(vf->qos, ==, 5);
	g_assert_true(vf->is_8021ad);
	g_assert_cmpuint(vf->min_rate, ==, 10);
	g_assert_cmpuint(vf->max_rate, ==, 25000);
	g_assert_cmpint(vf->spoofchk, ==, 1);
	g_assert_cmpint(vf->trust, ==, -1);
	g_assert_cmpint(vf->link_state, ==, 2);
	g_assert_cmpuint(vf->node_guid, ==, 0);
	g_assert_cmpuint(vf->port_guid, ==, 0x1122334455667788);
	vf = &link->vfs[1];
	g_assert_cmpuint(vf->number, ==, 7);
	g_assert_cmpuint(vf->vlan, ==, 100);
	g_assert_false(vf->is_8021ad);
	g_assert_cmpint(vf->spoofchk, ==, -1);
}

static void test_functions_without_sense_are_left_out(void)
{
	g_autoptr(RdmadLink) link = NULL;
	Message msg;
	gsize list, nest;

	message_start(&msg);
	list = message_begin(&msg, IFLA_VFINFO_LIST);
	message_add_attr(&msg, IFLA_VF_INFO, NULL, 0);
	nest = message_begin(&msg, IFLA_VF_INFO);
	message_add_u32(&msg, IFLA_VF_MAC, 1);
	message_end(&msg, nest);
	message_add_u32(&msg, IFLA_VF_INFO + 1, 1);
	message_end(&msg, list);
	link = network_parse_link(&msg.hdr);
	g_assert_nonnull(link);
	g_assert_cmpuint(link->n_vfs, ==, 0);
}

static void expect_text(const char *dir, const char *name, const char *expected)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, expected);
}

/* The end of rdmad may have come between the two. */
static void test_a_driver_is_bound_again_also_if_it_is_unbound(void)
{
	static const char *const files[] = { "unbind", "bind" };
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *pci = g_build_filename(dir, "sys/bus/pci", NULL);
	g_autofree char *net = g_build_filename(pci, "devices/0000:3b:00.2/net/eth0", NULL);
	g_autofree char *link = g_build_filename(pci, "devices/0000:3b:00.2/driver", NULL);
	g_autofree char *driver = g_build_filename(pci, "drivers/mlx5_core", NULL);
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(dir, NULL);
	const int never = 0;
	const PerformContext ctx = { .root = root, .cancelled = &never };
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(g_mkdir_with_parents(net, 0755), ==, 0);
	g_assert_cmpint(g_mkdir_with_parents(driver, 0755), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		g_free(scratch_write(driver, files[i], ""));
	g_free(scratch_write(pci, "drivers_probe", ""));
	g_assert_cmpint(symlink("../../drivers/mlx5_core", link), ==, 0);
	perform_rebind(&ctx, "0000:3b:00.2", &error);
	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		expect_text(driver, files[i], "0000:3b:00.2");
	expect_text(pci, "drivers_probe", "");
	g_assert_cmpint(unlink(link), ==, 0);
	perform_rebind(&ctx, "0000:3b:00.2", &error);
	g_assert_no_error(error);
	expect_text(pci, "drivers_probe", "0000:3b:00.2");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/vfs/each_function_has_what_the_driver_says",
		  test_each_function_has_what_the_driver_says),
	UNIT_TEST("/vfs/functions_without_sense_are_left_out",
		  test_functions_without_sense_are_left_out),
	UNIT_TEST("/vfs/a_driver_is_bound_again_also_if_it_is_unbound",
		  test_a_driver_is_bound_again_also_if_it_is_unbound),
	{ 0 },
};
