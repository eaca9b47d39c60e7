/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

#define PHYS_UNKNOWN 0
#define PHYS_LINK_UP 5

#define RELAPSE_US   (60 * G_USEC_PER_SEC) /* bad again so soon: it flaps */
#define RELAPSES_MAX 6u			   /* each doubles the wait */

/* ---- what is the case ---- */

static gboolean state_is_up(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

static gboolean link_is_up(const RdmadPort *port)
{
	return port->phys_state == PHYS_LINK_UP || port->phys_state == PHYS_UNKNOWN ||
	       port->phys_state == RDMAD_UNKNOWN;
}

/* Below a bond the other interface may carry what this one does not; an IPoIB interface that is
 * down does not prevent the use of verbs. */
static gboolean has_carrier(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = port->netdev ? rdmad_device_netdev(dev, port->netdev) : NULL;

	return !netdev || netdev->master || netdev->carrier != 0 ||
	       port->link_layer != RDMAD_LINK_LAYER_ETHERNET;
}

static const char *port_problem(const RdmadDevice *dev, const RdmadPort *port)
{
	if (!state_is_up(port))
		return "no port of it is active";
	if (!link_is_up(port))
		return "its port has no physical link";
	if (!has_carrier(dev, port))
		return "its interface has no carrier";
	return NULL;
}

/* One good port is enough; otherwise the port that lacks least gives the reason. */
static const char *ports_problem(const RdmadDevice *dev, const Selector *selector)
{
	const char *problem = "no port of it is active";

	for (guint i = 0; i < dev->n_ports; i++) {
		const RdmadPort *port = &dev->ports[i];

		if (!selector_takes_port(selector, dev, port))
			continue;
		if (!port_problem(dev, port))
			return NULL;
		if (state_is_up(port))
			problem = port_problem(dev, port);
	}
	return problem;
}

const char *health_problem(const RdmadDevice *dev, const Selector *selector)
{
	if (!dev)
		return "it is gone";
	if (dev->fatal)
		return "its driver reports a fatal error";
	if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS))
		return "it has no uverbs device file (is ib_uverbs loaded?)";
	return ports_problem(dev, selector);
}

/* ---- what counts ---- */

static gint64 recovery_wait(Health *health, gint64 now_us, gint64 delay_us)
{
	if (!health->good_since_us)
		health->good_since_us = now_us;
	delay_us <<= health->relapses;
	if (now_us - health->good_since_us < delay_us)
		return health->good_since_us + delay_us - now_us;
	health->problem = NULL;
	health->good_since_us = 0;
	health->recovered_us = now_us;
	return 0;
}

static void fall_ill(Health *health, gint64 now_us)
{
	if (health->recovered_us && now_us - health->recovered_us < RELAPSE_US)
		health->relapses = MIN(health->relapses + 1, RELAPSES_MAX);
	else
		health->relapses = 0;
}

gint64 health_update(Health *health, const char *problem, gint64 now_us, gint64 delay_us)
{
	if (!problem && health->judged && health->problem)
		return recovery_wait(health, now_us, delay_us);
	if (problem && !health->problem)
		fall_ill(health, now_us);
	health->judged = TRUE;
	health->problem = problem;
	health->good_since_us = 0;
	return 0;
}
