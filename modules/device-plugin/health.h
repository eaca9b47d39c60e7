/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of one device in one resource
 *
 * Bad news counts at once, good news after it has held for a time: a link that comes up has a moment
 * to get its GIDs.  A device that falls ill again within a minute has to wait twice as long, up to
 * 64 times: one that flaps stays unhealthy.
 */
#pragma once

#include <rdmad/device.h>

#include "selector/selector.h"

typedef struct {
	gboolean judged;      /* FALSE: the first verdict needs no waiting */
	const char *problem;  /* NULL: healthy; static text otherwise */
	gint64 good_since_us; /* 0: not waiting */
	gint64 recovered_us;  /* 0: it was never ill */
	guint relapses;
} Health;

/* The reason why a container cannot use the device ("no port is active"), or NULL.  `dev` NULL:
 * gone. */
const char *health_problem(const RdmadDevice *dev, const Selector *selector);
/* Takes in what is the case now.  How long until good news counts, in microseconds; 0: no need to
 * come again. */
gint64 health_update(Health *health, const char *problem, gint64 now_us, gint64 delay_us);
