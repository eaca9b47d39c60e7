/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/traffic: reads the devices and returns the traffic of their ports. */
#pragma once

#include "collector.h"
#include "traffic/traffic.h"

typedef struct TrafficRoute TrafficRoute;

/* `collector` and `traffic` must outlive it. */
TrafficRoute *traffic_route_new(RdmadModule *self, Collector *collector, Traffic *traffic,
				GError **error);
/* Waiting requests are refused. */
void traffic_route_free(TrafficRoute *route);
