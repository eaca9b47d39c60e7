/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

static gboolean port_is_active(const RdmadPort *port)
{
	return port->state == RDMAD_PORT_ACTIVE || port->state == RDMAD_PORT_ACTIVE_DEFER;
}

const char *rdmad_health_problem(const RdmadDevice *dev, const RdmadSelector *selector)
{
	if (!dev)
		return "it is gone";
	if (dev->fatal)
		return "its driver reports a fatal error";
	if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS))
		return "it has no uverbs device node (is ib_uverbs loaded?)";
	for (guint i = 0; i < dev->n_ports; i++)
		if (rdmad_selector_takes_port(selector, &dev->ports[i]) &&
		    port_is_active(&dev->ports[i]))
			return NULL;
	return "no port of it is active";
}

static gint64 recovery_wait(RdmadHealth *health, gint64 now_us, gint64 delay_us)
{
	if (!health->good_since_us)
		health->good_since_us = now_us;
	if (now_us - health->good_since_us < delay_us)
		return health->good_since_us + delay_us - now_us;
	health->problem = NULL;
	health->good_since_us = 0;
	return 0;
}

gint64 rdmad_health_update(RdmadHealth *health, const char *problem, gint64 now_us, gint64 delay_us)
{
	if (!problem && health->judged && health->problem)
		return recovery_wait(health, now_us, delay_us);
	health->judged = TRUE;
	health->problem = problem;
	health->good_since_us = 0;
	return 0;
}
