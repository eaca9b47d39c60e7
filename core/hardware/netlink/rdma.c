/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/rdma.h"

#include <errno.h>
#include <limits.h>
#include <netlink/msg.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <string.h>

#include "hardware/netlink/nldev.h"

/* ---- statistics: all counters of a port in one request, stat_get_doit_default_counter() ---- */

static const char *entry_name(struct nlattr *entry)
{
	struct nlattr *attr = nla_find(nla_data(entry), nla_len(entry),
				       RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
	const char *name = attr ? nla_data(attr) : NULL;
	gsize len;

	if (!name)
		return NULL;
	len = strnlen(name, (gsize)nla_len(attr));
	return len > 0 && len <= NAME_MAX && len < (gsize)nla_len(attr) ? name : NULL;
}

static void parse_entry(struct nlattr *entry, RdmadNldevCounterFunc fn, gpointer data)
{
	struct nlattr *value = nla_find(nla_data(entry), nla_len(entry),
					RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
	const char *name = entry_name(entry);

	if (name && value && nla_len(value) == (int)sizeof(guint64))
		fn(name, nla_get_u64(value), data);
}

void rdmad_nldev_parse_statistics(const struct nlmsghdr *msg, RdmadNldevCounterFunc fn,
				  gpointer data)
{
	RdmadNldevAttrs attrs;
	struct nlattr *entry;
	int left;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_STAT_GET, attrs) ||
	    !attrs[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS])
		return;
	nla_for_each_nested(entry, attrs[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS],
			    left) if (nla_type(entry) == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
		parse_entry(entry, fn, data);
}

typedef struct {
	RdmadNldevCounterFunc fn;
	gpointer data;
} Statistics;

static gboolean take_message(const struct nlmsghdr *msg, gpointer data)
{
	const Statistics *statistics = data;

	rdmad_nldev_parse_statistics(msg, statistics->fn, statistics->data);
	return TRUE;
}

/* Only dumps are restarted. */
static void ignore_restart(gpointer data)
{
}

int rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port, RdmadNldevCounterFunc fn,
			       gpointer data)
{
	Statistics statistics = { fn, data };
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_STAT_GET, 0);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	if (rdmad_netlink_ask_each(nl, msg, take_message, ignore_restart, &statistics, NULL))
		return 0;
	return rdmad_netlink_errnum(nl);
}

/* ---- messages ---- */

/* Other attributes are ignored.  An attribute with a wrong size invalidates its message. */
static const struct nla_policy nldev_policy[RDMAD_NLDEV_ATTR_MAX] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_PORT_INDEX] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_FW_VERSION] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_NODE_GUID] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_LID] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_SM_LID] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_PORT_STATE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_PORT_PHYS_STATE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_DEV_NODE_TYPE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_NDEV_INDEX] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_NDEV_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_SYS_ATTR_NETNS_MODE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS] = { .type = NLA_NESTED },
	[RDMAD_NLDEV_ATTR_PARENT_NAME] = { .type = NLA_STRING },
};

gboolean rdmad_nldev_parse(const struct nlmsghdr *msg, int command, RdmadNldevAttrs attrs)
{
	if (msg->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))
		return FALSE;
	return nlmsg_parse((struct nlmsghdr *)msg, 0, attrs, RDMAD_NLDEV_ATTR_MAX - 1,
			   nldev_policy) >= 0;
}

static char *attr_string(struct nlattr *attr)
{
	return attr && nla_len(attr) > 1 ? g_utf8_make_valid(nla_data(attr), -1) : NULL;
}

static int attr_u8(struct nlattr *attr)
{
	return attr ? nla_get_u8(attr) : RDMAD_UNKNOWN;
}

/* LIDs have 16 bits, 32 with OPA. */
static int attr_lid(struct nlattr *attr)
{
	const guint32 lid = attr ? nla_get_u32(attr) : G_MAXUINT32;

	return lid <= G_MAXINT32 ? (int)lid : RDMAD_UNKNOWN;
}

static char *attr_guid(struct nlattr *attr)
{
	guint64 guid;

	if (!attr)
		return NULL;
	guid = nla_get_u64(attr);
	return g_strdup_printf("%04x:%04x:%04x:%04x", (guint)(guid >> 48),
			       (guint)(guid >> 32) & 0xffff, (guint)(guid >> 16) & 0xffff,
			       (guint)guid & 0xffff);
}

void rdmad_nldev_device_free(RdmadNldevDevice *dev)
{
	g_free(dev->name);
	g_free(dev->firmware);
	g_free(dev->node_guid);
	g_free(dev->sys_image_guid);
	g_free(dev->parent);
	g_free(dev);
}

void rdmad_nldev_port_free(RdmadNldevPort *port)
{
	g_free(port->netdev);
	g_free(port);
}

void rdmad_nldev_parse_device(const struct nlmsghdr *msg, GPtrArray *devices)
{
	RdmadNldevAttrs attrs;
	RdmadNldevDevice *dev;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_GET, attrs))
		return;
	if (!attrs[RDMA_NLDEV_ATTR_DEV_INDEX] || !attrs[RDMA_NLDEV_ATTR_DEV_NAME])
		return;
	dev = g_new0(RdmadNldevDevice, 1);
	dev->index = nla_get_u32(attrs[RDMA_NLDEV_ATTR_DEV_INDEX]);
	dev->name = g_utf8_make_valid(nla_data(attrs[RDMA_NLDEV_ATTR_DEV_NAME]), -1);
	dev->firmware = attr_string(attrs[RDMA_NLDEV_ATTR_FW_VERSION]);
	dev->node_guid = attr_guid(attrs[RDMA_NLDEV_ATTR_NODE_GUID]);
	dev->sys_image_guid = attr_guid(attrs[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID]);
	dev->node_type = attr_u8(attrs[RDMA_NLDEV_ATTR_DEV_NODE_TYPE]);
	dev->parent = attr_string(attrs[RDMAD_NLDEV_ATTR_PARENT_NAME]);
	g_ptr_array_add(devices, dev);
}

void rdmad_nldev_parse_port(const struct nlmsghdr *msg, GPtrArray *ports)
{
	RdmadNldevAttrs attrs;
	RdmadNldevPort *port;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_PORT_GET, attrs))
		return;
	if (!attrs[RDMA_NLDEV_ATTR_PORT_INDEX])
		return;
	port = g_new0(RdmadNldevPort, 1);
	port->number = nla_get_u32(attrs[RDMA_NLDEV_ATTR_PORT_INDEX]);
	port->state = attr_u8(attrs[RDMA_NLDEV_ATTR_PORT_STATE]);
	port->phys_state = attr_u8(attrs[RDMA_NLDEV_ATTR_PORT_PHYS_STATE]);
	port->lid = attr_lid(attrs[RDMA_NLDEV_ATTR_LID]);
	port->sm_lid = attr_lid(attrs[RDMA_NLDEV_ATTR_SM_LID]);
	port->netdev = attr_string(attrs[RDMA_NLDEV_ATTR_NDEV_NAME]);
	g_ptr_array_add(ports, port);
}

void rdmad_nldev_parse_chardev(const struct nlmsghdr *msg, GPtrArray *chardevs)
{
	RdmadNldevAttrs attrs;
	RdmadNldevChardev *chardev;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_GET_CHARDEV, attrs))
		return;
	if (!attrs[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID])
		return;
	chardev = g_new0(RdmadNldevChardev, 1);
	chardev->driver_id = nla_get_u32(attrs[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID]);
	g_ptr_array_add(chardevs, chardev);
}

void rdmad_nldev_parse_netns_mode(const struct nlmsghdr *msg, GPtrArray *modes)
{
	RdmadNldevAttrs attrs;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_SYS_GET, attrs))
		return;
	if (!attrs[RDMA_NLDEV_SYS_ATTR_NETNS_MODE])
		return;
	g_ptr_array_add(modes,
			(char *)(nla_get_u8(attrs[RDMA_NLDEV_SYS_ATTR_NETNS_MODE]) ? "shared"
										   : "exclusive"));
}

struct nl_msg *rdmad_nldev_request(int command, int flags)
{
	struct nl_msg *msg =
		nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags | NLM_F_ACK);

	if (!msg)
		g_error("out of memory");
	return msg;
}

static GPtrArray *devices_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_nldev_device_free);
}

GPtrArray *rdmad_nldev_get_devices(RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) devices = devices_new();

	if (!rdmad_netlink_ask(nl, rdmad_nldev_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP),
			       rdmad_nldev_parse_device, devices, error))
		return NULL;
	return g_steal_pointer(&devices);
}

GPtrArray *rdmad_nldev_get_device(RdmadNetlink *nl, guint device, GError **error)
{
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_GET, 0);
	g_autoptr(GPtrArray) devices = devices_new();
	int errnum;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	if (rdmad_netlink_ask(nl, msg, rdmad_nldev_parse_device, devices, error))
		return g_steal_pointer(&devices);
	errnum = rdmad_netlink_errnum(nl);
	if (errnum != EINVAL && errnum != ENODEV)
		return NULL;
	/* The kernel returns EINVAL for an unknown index, and for other errors too. */
	g_clear_error(error);
	return g_steal_pointer(&devices);
}

GPtrArray *rdmad_nldev_get_ports(RdmadNetlink *nl, guint device, GError **error)
{
	g_autoptr(GPtrArray) ports =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_nldev_port_free);
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	if (!rdmad_netlink_ask(nl, msg, rdmad_nldev_parse_port, ports, error))
		return NULL;
	return g_steal_pointer(&ports);
}

/* Names only the drivers of software devices; other devices have a bus, which names their
 * driver. */
static const char *driver_name(guint32 id)
{
	switch (id) {
	case RDMA_DRIVER_RXE:
		return "rxe";
	case RDMA_DRIVER_SIW:
		return "siw";
	default:
		return NULL;
	}
}

const char *rdmad_nldev_get_driver(RdmadNetlink *nl, guint device)
{
	g_autoptr(GPtrArray) chardevs = g_ptr_array_new_with_free_func(g_free);
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_GET_CHARDEV, 0);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
	if (!rdmad_netlink_ask(nl, msg, rdmad_nldev_parse_chardev, chardevs, NULL) ||
	    chardevs->len == 0)
		return NULL;
	return driver_name(((const RdmadNldevChardev *)chardevs->pdata[0])->driver_id);
}

const char *rdmad_nldev_get_netns_mode(RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) modes = g_ptr_array_new();

	if (!rdmad_netlink_ask(nl, rdmad_nldev_request(RDMA_NLDEV_CMD_SYS_GET, 0),
			       rdmad_nldev_parse_netns_mode, modes, error))
		return NULL;
	if (modes->len == 0) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
				    "netlink: this kernel has no network namespace mode for RDMA");
		return NULL;
	}
	return modes->pdata[0];
}

struct nl_msg *rdmad_nldev_netns_request(guint device, int netns)
{
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_SET, 0);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	nla_put_u32(msg, RDMA_NLDEV_NET_NS_FD, (guint32)netns);
	return msg;
}

gboolean rdmad_nldev_set_netns(RdmadNetlink *nl, guint device, int netns, GError **error)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();

	/* The response is an acknowledgement without content. */
	return rdmad_netlink_ask(nl, rdmad_nldev_netns_request(device, netns),
				 rdmad_nldev_parse_netns_mode, none, error);
}
