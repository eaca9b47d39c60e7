/* SPDX-License-Identifier: Apache-2.0 */
/* Which of its counters tell how much went through a port: each driver has its own. */
#pragma once

#include <rdmad/counters.h>

typedef struct {
	const char *unit; /* "bytes"; "packets" where the device counts no bytes */
	guint64 received, transmitted;
} PortTraffic;

/* `alone`: it is the only port, so that counters of the whole device are its own.  FALSE: none tell. */
gboolean port_traffic_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *traffic);
