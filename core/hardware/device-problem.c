/* SPDX-License-Identifier: Apache-2.0 */
/* The health of a device by its ports and device files */
#include <rdmad/device.h>

#define PHYS_UNKNOWN 0
#define PHYS_LINK_UP 5
#define NOT_ACTIVE   "no port of it is active"

static gboolean state_is_up(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

static gboolean link_is_up(const RdmadPort *port)
{
	return port->phys_state == PHYS_LINK_UP || port->phys_state == PHYS_UNKNOWN ||
	       port->phys_state == RDMAD_UNKNOWN;
}

/* In a bond, another interface may have the carrier.  An IPoIB interface that is down does not
 * prevent the use of verbs. */
static gboolean has_carrier(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = port->netdev ? rdmad_device_netdev(dev, port->netdev) : NULL;

	return !netdev || netdev->master || netdev->carrier != 0 ||
	       port->link_layer != RDMAD_LINK_LAYER_ETHERNET;
}

static const char *port_problem(const RdmadDevice *dev, const RdmadPort *port)
{
	if (!state_is_up(port))
		return NOT_ACTIVE;
	if (!link_is_up(port))
		return "its port has no physical link";
	if (!has_carrier(dev, port))
		return "its interface has no carrier";
	return NULL;
}

/* Reports the problem of the best port. */
static const char *ports_problem(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	const char *problem = NOT_ACTIVE;

	for (guint i = 0; i < dev->n_ports; i++) {
		const RdmadPort *port = &dev->ports[i];

		if (counts && !counts(dev, port, data))
			continue;
		if (!port_problem(dev, port))
			return NULL;
		if (state_is_up(port))
			problem = port_problem(dev, port);
	}
	return problem;
}

const char *rdmad_device_problem(const RdmadDevice *dev, RdmadPortFilter counts, gconstpointer data)
{
	if (dev->fatal)
		return "its driver reports a fatal error";
	if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS))
		return "it has no uverbs device file (is ib_uverbs loaded?)";
	return ports_problem(dev, counts, data);
}
