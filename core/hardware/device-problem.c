/* SPDX-License-Identifier: Apache-2.0 */
/* The role of a device, and its health by its ports and device files */
#include <rdmad/device.h>
#include <string.h>

#define NOT_ACTIVE     "no port of it is active"
#define ONLY_OTHERS_UP "none of its selected ports is active"

/* ---- role ---- */

/*
 * Sources: SMDL=SW_MNG is the mark by which NVIDIA's fabric manager finds the functions that
 * manage NVSwitches of Blackwell boards (nvidia-fabricmanager-start.sh); a sub-device is
 * ib_add_sub_device() of Linux 6.11.
 */
RdmadDeviceRole rdmad_device_role(const RdmadDevice *dev)
{
	if (dev->parent && !rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS))
		return RDMAD_ROLE_SUB_DEVICE;
	if (g_strcmp0(dev->vpd_model, "SW_MNG") == 0)
		return RDMAD_ROLE_SWITCH_MANAGEMENT;
	return RDMAD_ROLE_NIC;
}

const char *rdmad_device_role_name(RdmadDeviceRole role)
{
	switch (role) {
	case RDMAD_ROLE_NIC:
		return "nic";
	case RDMAD_ROLE_SWITCH_MANAGEMENT:
		return "switch-management";
	case RDMAD_ROLE_SUB_DEVICE:
		return "sub-device";
	}
	g_assert_not_reached();
}

char *rdmad_device_role_text(const RdmadDevice *dev)
{
	switch (rdmad_device_role(dev)) {
	case RDMAD_ROLE_NIC:
		return NULL;
	case RDMAD_ROLE_SWITCH_MANAGEMENT:
		return g_strdup("it manages the NVSwitches of its board and reaches no other node");
	case RDMAD_ROLE_SUB_DEVICE:
		return g_strdup_printf("it is a management sub-device of %s, without verbs",
				       dev->parent);
	}
	g_assert_not_reached();
}

/* ---- ports ---- */

static gboolean state_is_up(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

/* Netlink has 0 for a driver that does not report it. */
static gboolean phys_is_unknown(const RdmadPort *port)
{
	return port->phys_state == RDMAD_UNKNOWN || port->phys_state == 0;
}

static gboolean link_is_up(const RdmadPort *port)
{
	return port->phys_state == RDMAD_PHYS_LINK_UP || phys_is_unknown(port);
}

static const RdmadNetdev *port_netdev(const RdmadDevice *dev, const RdmadPort *port)
{
	return port->netdev ? rdmad_device_netdev(dev, port->netdev) : NULL;
}

/* In a bond, another interface may have the carrier.  An IPoIB interface that is down does not
 * prevent the use of verbs. */
static gboolean has_carrier(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = port_netdev(dev, port);

	return !netdev || netdev->master || netdev->carrier != 0 ||
	       port->link_layer != RDMAD_LINK_LAYER_ETHERNET;
}

/* NULL counts as unknown. */
static gboolean guid_is_zero(const char *guid)
{
	return guid && guid[strspn(guid, "0:")] == '\0';
}

static gboolean port_lacks_guid(const RdmadPort *port)
{
	static const guint8 zero[8];

	return port->n_gids && port->gids[0].index == 0 && !memcmp(port->gids[0].raw + 8, zero, 8);
}

gboolean rdmad_device_lacks_guid(const RdmadDevice *dev)
{
	return guid_is_zero(dev->node_guid);
}

static const char *port_rest(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = port_netdev(dev, port);

	if (port->state != RDMAD_PORT_DOWN || dev->pf_link == 0)
		return NULL;
	if (port->link_layer == RDMAD_LINK_LAYER_INFINIBAND)
		return dev->pci_role == RDMAD_PCI_VF &&
				       (rdmad_device_lacks_guid(dev) || port_lacks_guid(port))
			       ? "it has no GUID yet"
			       : NULL;
	return netdev && netdev->up == 0 &&
			       (port->phys_state == RDMAD_PHYS_DISABLED || phys_is_unknown(port))
		       ? "its interface is not set up"
		       : NULL;
}

gboolean rdmad_port_is_at_rest(const RdmadDevice *dev, const RdmadPort *port)
{
	return port_rest(dev, port) != NULL;
}

static const char *port_problem(const RdmadDevice *dev, const RdmadPort *port)
{
	if (!state_is_up(port))
		return dev->pf_link == 0 ? "the link of its physical function is down" : NOT_ACTIVE;
	if (!link_is_up(port))
		return "its port has no physical link";
	if (!has_carrier(dev, port))
		return "its interface has no carrier";
	return NULL;
}

/* ---- device ---- */

/* The state of the best port: both are NULL if it is usable. */
typedef struct {
	const char *problem, *rest;
} Verdict;

static Verdict ports_judge(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	Verdict verdict = { NOT_ACTIVE, NULL };
	gboolean others_up = FALSE;

	for (guint i = 0; i < dev->n_ports; i++) {
		const RdmadPort *port = &dev->ports[i];
		const char *problem;

		problem = port_problem(dev, port);
		if (counts && !counts(dev, port, data)) {
			others_up |= !problem;
			continue;
		}
		if (!problem)
			return (Verdict){ NULL, NULL };
		if (state_is_up(port) || g_str_equal(verdict.problem, NOT_ACTIVE))
			verdict.problem = problem;
		if (!verdict.rest)
			verdict.rest = port_rest(dev, port);
	}
	if (others_up && g_str_equal(verdict.problem, NOT_ACTIVE))
		verdict.problem = ONLY_OTHERS_UP;
	return verdict;
}

static Verdict device_judge(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	if (dev->fatal)
		return (Verdict){ "its driver reports a fatal error", NULL };
	if (rdmad_device_role(dev) == RDMAD_ROLE_SUB_DEVICE)
		return (Verdict){ NULL, NULL }; /* its ports are those of its parent */
	if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS))
		return (Verdict){ "it has no uverbs device file (is ib_uverbs loaded?)", NULL };
	return ports_judge(dev, counts, data);
}

const char *rdmad_device_problem(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	const Verdict verdict = device_judge(dev, counts, data);

	return verdict.rest ? NULL : verdict.problem;
}

const char *rdmad_device_rest(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	return device_judge(dev, counts, data).rest;
}
