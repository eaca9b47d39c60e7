/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of one device in one resource
 *
 * A problem takes effect immediately; a recovery takes effect after a delay, in which a new link
 * can get its GIDs.  Each relapse within a minute doubles the delay, up to 64 times, so that a
 * flapping device stays unhealthy.
 */
#pragma once

#include <rdmad/device.h>

#include "selector/selector.h"

/* How a container uses the device. */
typedef enum {
	HEALTH_SHARED, /* by the host's interface */
	HEALTH_ALONE,  /* nobody has it, and a container would have it alone */
	HEALTH_HELD,   /* a container has it alone, or its slots are withheld */
} HealthUse;

typedef struct {
	gboolean judged;      /* FALSE: the first result takes effect without delay */
	const char *problem;  /* NULL: healthy; static text otherwise */
	gint64 good_since_us; /* start of the delay; 0: no recovery is pending */
	gint64 recovered_us;  /* 0: never */
	guint relapses;
} Health;

/* Returns the reason why a container cannot use the device ("no port is active"), or NULL.  A
 * device at rest (rdmad/device.h) can be used only if a container has it alone.  `dev` NULL:
 * absent. */
const char *health_problem(const RdmadDevice *dev, const Selector *selector, HealthUse use);
/* Returns whether the interface of an Ethernet device was moved to another network namespace: if
 * RDMA devices are visible in all of them, this is the only sign of use by a pod. */
gboolean health_lost_interface(const RdmadDevice *dev);
/* Returns the reason why the device is at rest, or NULL. */
const char *health_rest(const RdmadDevice *dev, const Selector *selector);
/* Updates the health with the current problem.  Returns the remaining delay of a recovery in
 * microseconds; 0: no recovery is pending. */
gint64 health_update(Health *health, const char *problem, gint64 now_us, gint64 delay_us);
