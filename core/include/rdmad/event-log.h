/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event log: the newest 1024 events of the hardware and its holders, in memory
 *
 * It serves `rdmad events`, the status page and the metrics.  Each entry is also a line in the log.
 */
#pragma once

#include <rdmad/types.h>
#include <rdmad/log.h>

typedef struct {
	guint64 sequence; /* from 1, without gaps */
	gint64 time_us;	  /* wall clock, microseconds since 1970 */
	RdmadLogLevel level;
	char *kind; /* "port-state", "device-added", "allocation-granted": lower case, dashes */
	char *device, *pod, *resource, *allocation; /* NULL: not about one */
	char *message;
} RdmadEventLogEntry;

/* Adds an entry, and notifies the watches from the top of the loop.  `about` may be NULL. */
RDMAD_API void rdmad_event_log_post(RdmadEventLog *event_log, RdmadLogLevel level, const char *kind,
				    const RdmadLogFields *about, const char *format, ...)
	G_GNUC_PRINTF(5, 6);

/* Calls `fn` for the entries after `sequence` that are kept, oldest first. */
RDMAD_API void rdmad_event_log_foreach(RdmadEventLog *event_log, guint64 sequence,
				       void (*fn)(const RdmadEventLogEntry *entry, gpointer data),
				       gpointer data);

typedef void (*RdmadEventLogFunc)(const RdmadEventLogEntry *entry, gpointer data);
/* Calls `fn` for each new entry, from the top of the loop, and for no earlier entry. */
RDMAD_API RdmadWatch *rdmad_event_log_watch(RdmadEventLog *event_log, RdmadModule *owner,
					    RdmadEventLogFunc fn,
					    gpointer data) G_GNUC_WARN_UNUSED_RESULT;
