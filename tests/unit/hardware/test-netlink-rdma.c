/* SPDX-License-Identifier: Apache-2.0 */
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>
#include <rdmad/device.h>

#include "hardware/netlink/nldev.h"
#include "hardware/netlink/rdma.h"
#include "netlink-message.h"
#include "../support/unit.h"

#define TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_##command)

static GPtrArray *new_devices(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_nldev_device_free);
}

static GPtrArray *new_ports(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_nldev_port_free);
}

static void test_a_device_has_its_index_name_guids_and_type(void)
{
	g_autoptr(GPtrArray) devices = new_devices();
	const RdmadNldevDevice *dev;
	Message msg;

	message_init(&msg, TYPE(GET), NULL, 0);
	message_add_u32(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, 7);
	message_add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	message_add_text(&msg, RDMA_NLDEV_ATTR_FW_VERSION, "28.41.1000");
	message_add_u64(&msg, RDMA_NLDEV_ATTR_NODE_GUID, G_GUINT64_CONSTANT(0x0c42a10300654321));
	message_add_u8(&msg, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, RDMAD_NODE_RNIC);
	rdmad_nldev_parse_device(&msg.hdr, devices);

	g_assert_cmpuint(devices->len, ==, 1);
	dev = devices->pdata[0];
	g_assert_cmpuint(dev->index, ==, 7);
	g_assert_cmpstr(dev->name, ==, "mlx5_0");
	g_assert_cmpstr(dev->firmware, ==, "28.41.1000");
	g_assert_cmpstr(dev->node_guid, ==, "0c42:a103:0065:4321");
	g_assert_null(dev->sys_image_guid);
	g_assert_cmpint(dev->node_type, ==, RDMAD_NODE_RNIC);
}

static void test_an_empty_firmware_version_is_none(void)
{
	g_autoptr(GPtrArray) devices = new_devices();
	Message msg;

	message_init(&msg, TYPE(GET), NULL, 0);
	message_add_u32(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	message_add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	message_add_text(&msg, RDMA_NLDEV_ATTR_FW_VERSION, "");
	rdmad_nldev_parse_device(&msg.hdr, devices);
	g_assert_cmpuint(devices->len, ==, 1);
	g_assert_null(((const RdmadNldevDevice *)devices->pdata[0])->firmware);
}

static void test_attributes_of_a_later_kernel_are_skipped(void)
{
	g_autoptr(GPtrArray) devices = new_devices();
	Message msg;

	message_init(&msg, TYPE(GET), NULL, 0);
	message_add_u32(&msg, 4000, 1);
	message_add_u32(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	message_add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_1");
	rdmad_nldev_parse_device(&msg.hdr, devices);
	g_assert_cmpuint(devices->len, ==, 1);
}

static void test_a_sub_device_has_a_parent(void)
{
	g_autoptr(GPtrArray) devices = new_devices();
	Message msg;

	message_init(&msg, TYPE(GET), NULL, 0);
	message_add_u32(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	message_add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, "smi1");
	message_add_u8(&msg, 99, 1); /* RDMA_NLDEV_ATTR_DEV_TYPE, RDMA_DEVICE_TYPE_SMI */
	message_add_text(&msg, RDMAD_NLDEV_ATTR_PARENT_NAME, "mlx5_0");
	rdmad_nldev_parse_device(&msg.hdr, devices);
	g_assert_cmpuint(devices->len, ==, 1);
	g_assert_cmpstr(((RdmadNldevDevice *)devices->pdata[0])->parent, ==, "mlx5_0");
}

static void test_a_port_has_its_states_and_netdev(void)
{
	g_autoptr(GPtrArray) ports = new_ports();
	const RdmadNldevPort *port;
	Message msg;

	message_init(&msg, TYPE(PORT_GET), NULL, 0);
	message_add_u32(&msg, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	message_add_u8(&msg, RDMA_NLDEV_ATTR_PORT_STATE, RDMAD_PORT_ACTIVE);
	message_add_u8(&msg, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 5);
	message_add_text(&msg, RDMA_NLDEV_ATTR_NDEV_NAME, "eth1");
	rdmad_nldev_parse_port(&msg.hdr, ports);

	g_assert_cmpuint(ports->len, ==, 1);
	port = ports->pdata[0];
	g_assert_cmpuint(port->number, ==, 2);
	g_assert_cmpint(port->state, ==, RDMAD_PORT_ACTIVE);
	g_assert_cmpint(port->phys_state, ==, 5);
	g_assert_cmpint(port->lid, ==, RDMAD_UNKNOWN);
	g_assert_cmpstr(port->netdev, ==, "eth1");
}

static void test_the_netns_mode_has_a_name(void)
{
	static const char *const names[] = { "exclusive", "shared" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GPtrArray) modes = g_ptr_array_new();
		Message msg;

		message_init(&msg, TYPE(SYS_GET), NULL, 0);
		message_add_u8(&msg, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, (guint8)i);
		rdmad_nldev_parse_netns_mode(&msg.hdr, modes);
		g_assert_cmpuint(modes->len, ==, 1);
		g_assert_cmpstr(modes->pdata[0], ==, names[i]);
	}
}

/* Each makes a valid message invalid. */
static void spoil_type(Message *msg)
{
	msg->hdr.nlmsg_type = TYPE(RES_GET);
}

static void spoil_short(Message *msg)
{
	msg->hdr.nlmsg_len = NLMSG_HDRLEN + 6;
}

static void spoil_name_end(Message *msg)
{
	char *name = memmem(msg->bytes, msg->hdr.nlmsg_len, "rxe", 4);

	g_assert_nonnull(name);
	name[3] = 'x';
}

static void spoil_index_size(Message *msg)
{
	struct nlattr *first = (void *)(msg->bytes + NLMSG_HDRLEN);

	first->nla_len = NLA_HDRLEN + 2;
}

static void spoil_attr_length(Message *msg)
{
	struct nlattr *first = (void *)(msg->bytes + NLMSG_HDRLEN);

	first->nla_len = 60000;
}

static void test_a_spoilt_message_is_left_out(void)
{
	static void (*const spoil[])(Message *) = {
		spoil_type, spoil_short, spoil_name_end, spoil_index_size, spoil_attr_length,
	};

	for (guint i = 0; i < G_N_ELEMENTS(spoil); i++) {
		g_autoptr(GPtrArray) devices = new_devices();
		Message msg;

		message_init(&msg, TYPE(GET), NULL, 0);
		message_add_u32(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, 1);
		message_add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, "rxe");
		rdmad_nldev_parse_device(&msg.hdr, devices);
		g_assert_cmpuint(devices->len, ==, 1);
		spoil[i](&msg);
		rdmad_nldev_parse_device(&msg.hdr, devices);
		g_assert_cmpuint(devices->len, ==, 1);
	}
}

static void test_a_move_names_the_device_and_the_namespace(void)
{
	struct nl_msg *msg = rdmad_nldev_netns_request(7, 33);
	const struct nlmsghdr *hdr = nlmsg_hdr(msg);
	const struct nlattr *device = nlmsg_find_attr(nlmsg_hdr(msg), 0, RDMA_NLDEV_ATTR_DEV_INDEX);
	const struct nlattr *netns = nlmsg_find_attr(nlmsg_hdr(msg), 0, RDMA_NLDEV_NET_NS_FD);

	g_assert_cmpuint(hdr->nlmsg_type, ==, TYPE(SET));
	g_assert_true(hdr->nlmsg_flags & NLM_F_ACK);
	g_assert_cmpuint(nla_get_u32(device), ==, 7);
	g_assert_cmpuint(nla_get_u32(netns), ==, 33);
	nlmsg_free(msg);
}

#define TEST(name) UNIT_TEST("/netlink-rdma/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_device_has_its_index_name_guids_and_type),
	TEST(an_empty_firmware_version_is_none),
	TEST(attributes_of_a_later_kernel_are_skipped),
	TEST(a_sub_device_has_a_parent),
	TEST(a_port_has_its_states_and_netdev),
	TEST(the_netns_mode_has_a_name),
	TEST(a_move_names_the_device_and_the_namespace),
	TEST(a_spoilt_message_is_left_out),
	{ 0 },
};
