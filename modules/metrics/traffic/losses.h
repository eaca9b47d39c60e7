/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of a port in the last five minutes
 *
 * The conditions are those of the alerts in contrib/prometheus/alerts.yml, without their delay.
 */
#pragma once

#include "traffic/traffic.h"

typedef struct {
	gint64 read_us; /* monotonic; 0: none */
	PortError errors[PORT_ERROR_KINDS];
	PortTraffic packets;
} LossMark;

/* Rates are from `older` to `last`; `newer` is the next `older`. */
typedef struct {
	LossMark older, newer, last;
} PortLosses;

/* `packets`: of port_packets_read().  A reading that could not read everything that the last one
 * had is left out. */
void port_losses_take(PortLosses *losses, const PortError errors[PORT_ERROR_KINDS],
		      const PortTraffic *packets, gint64 read_us);
/* Adds a finding for each condition that holds. */
void port_losses_doctor(const PortLosses *losses, const char *device, guint port, gint64 now_us,
			struct json_t *findings);
