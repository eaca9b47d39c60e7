/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic: the counters of a port's traffic, which differ between drivers, and their history. */
#pragma once

#include <rdmad/counters.h>

#include "snapshot.h"
#include "traffic/parts.h"

typedef struct {
	const char *unit; /* "bytes"; "packets" where the device counts no bytes */
	guint64 received, transmitted;
	PortParts parts; /* sources; one was read */
} PortTraffic;

/* sources.c.  `traffic`: zeroed.  `alone`: the port is the only one, so counters of the whole
 * device are its own.  Returns FALSE if no source could be read; `traffic` has only those that
 * failed. */
gboolean port_traffic_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *traffic);

/* The same of packets only. */
gboolean port_packets_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *packets);

/* errors.c: errors of a port, the drivers' counters of one kind added up. */
typedef enum {
	PORT_RETRANSMISSIONS,
	PORT_ACK_TIMEOUTS,
	PORT_OUT_OF_SEQUENCE,
	PORT_CNPS,	     /* congestion notifications received */
	PORT_RECEIVE_ERRORS, /* damaged packets */
	PORT_DISCARDS,
	PORT_RETRIES_EXCEEDED,
	PORT_ERROR_KINDS,
} PortErrorKind;

typedef struct {
	guint64 total;
	PortParts parts; /* counters of that kind */
} PortError;

extern const char *const port_error_names[PORT_ERROR_KINDS];

/* `alone` as above. */
void port_errors_read(const RdmadReading *reading, guint port, gboolean alone,
		      PortError errors[PORT_ERROR_KINDS]);

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
/* Drops devices that were removed or are no longer read. */
void traffic_forget_old(Traffic *traffic, gint64 now_us);
/* Returns a copy for traffic_json() on another thread. */
Traffic *traffic_copy(const Traffic *traffic);
/* Returns the response of GET /api/v1/traffic?after=: the samples after the mark of an earlier
 * response. */
struct json_t *traffic_json(const Traffic *traffic, gint64 after, gint64 now_us);
/* Adds a finding for each port that loses packets. */
void traffic_doctor(const Traffic *traffic, gint64 now_us, struct json_t *findings);
