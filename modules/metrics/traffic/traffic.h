/* SPDX-License-Identifier: Apache-2.0 */
/* Which of its counters tell how much went through a port: each driver has its own. */
#pragma once

#include <rdmad/counters.h>

#include "snapshot.h"

typedef struct {
	const char *unit; /* "bytes"; "packets" where the device counts no bytes */
	guint64 received, transmitted;
} PortTraffic;

/* `alone`: it is the only port, so that counters of the whole device are its own.  FALSE: none tell. */
gboolean port_traffic_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *traffic);

#define TRAFFIC_KEPT_US	   (10 * G_TIME_SPAN_MINUTE)
#define TRAFFIC_PORT_MAX   240u	  /* samples of a port */
#define TRAFFIC_SAMPLE_MAX 16384u /* of all ports */
#define TRAFFIC_PORTS_MAX  4096u

typedef struct Traffic Traffic;

Traffic *traffic_new(void);
void traffic_free(Traffic *traffic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Traffic, traffic_free)

/* `now_us`: monotonic. */
void traffic_take(Traffic *traffic, const DeviceSample *sample, gint64 now_us);
/* What GET /api/v1/traffic?after= answers: samples after the mark that an earlier answer gave. */
struct json_t *traffic_json(Traffic *traffic, gint64 after, gint64 now_us);
