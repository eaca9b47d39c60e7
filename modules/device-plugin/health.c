/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

#define RELAPSE_US   (60 * G_USEC_PER_SEC) /* less time between recovery and failure is a relapse */
#define RELAPSES_MAX 6u			   /* each doubles the delay */

/* ---- current state ---- */

static gboolean port_counts(const RdmadDevice *dev, const RdmadPort *port, gconstpointer selector)
{
	return selector_takes_port(selector, dev, port);
}

const char *health_rest(const RdmadDevice *dev, const Selector *selector)
{
	return dev ? rdmad_device_rest(dev, port_counts, selector) : NULL;
}

gboolean health_lost_interface(const RdmadDevice *dev)
{
	return dev->n_netdevs == 0 && dev->n_ports > 0 &&
	       dev->ports[0].link_layer == RDMAD_LINK_LAYER_ETHERNET;
}

/* The link of a virtual function is that of its physical function: the rest is up to the pod, which
 * has the interface, and whose CNI plugin may be about to set it up. */
static gboolean is_down_in_its_pod(const RdmadDevice *dev)
{
	return dev->pf_link == 1 && health_lost_interface(dev) && !dev->fatal &&
	       rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS);
}

const char *health_problem(const RdmadDevice *dev, const Selector *selector, HealthUse use)
{
	const char *problem = dev ? rdmad_device_problem(dev, port_counts, selector) : "it is gone";

	if (!problem)
		return use == HEALTH_SHARED ? health_rest(dev, selector) : NULL;
	return dev && use == HEALTH_HELD && is_down_in_its_pod(dev) ? NULL : problem;
}

/* ---- reported state ---- */

static gint64 recovery_delay(Health *health, gint64 now_us, gint64 delay_us)
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

static void count_relapse(Health *health, gint64 now_us)
{
	if (health->recovered_us && now_us - health->recovered_us < RELAPSE_US)
		health->relapses = MIN(health->relapses + 1, RELAPSES_MAX);
	else
		health->relapses = 0;
}

gint64 health_update(Health *health, const char *problem, gint64 now_us, gint64 delay_us)
{
	if (!problem && health->judged && health->problem)
		return recovery_delay(health, now_us, delay_us);
	if (problem && !health->problem)
		count_relapse(health, now_us);
	health->judged = TRUE;
	health->problem = problem;
	health->good_since_us = 0;
	return 0;
}
