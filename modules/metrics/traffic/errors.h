/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a port: the drivers' counters of one kind, added up. */
#pragma once

#include <rdmad/counters.h>

typedef enum {
	PORT_RETRANSMISSIONS,
	PORT_OUT_OF_SEQUENCE,
	PORT_CNPS, /* congestion notifications received */
	PORT_DISCARDS,
	PORT_RETRIES_EXCEEDED,
	PORT_ERROR_KINDS,
} PortErrorKind;

typedef struct {
	guint64 total;
	gboolean known; /* a counter of that kind could be read */
} PortError;

extern const char *const port_error_names[PORT_ERROR_KINDS];

/* `alone`: it is the only port, so that counters of the whole device are its own. */
void port_errors_read(const RdmadReading *reading, guint port, gboolean alone,
		      PortError errors[PORT_ERROR_KINDS]);
