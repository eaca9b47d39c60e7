/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector: reads all devices on request
 *
 * A device is read by one job at a time.  Concurrent requests share the reading, and so do requests
 * within a second of its beginning, so many scrapers cost the device no more than one.  At the
 * deadline the response has the complete readings.
 */
#pragma once

#include <rdmad/types.h>

#include "settings.h"
#include "snapshot.h"

typedef struct Collector Collector;
typedef struct CollectorRequest CollectorRequest;

/* Follows the inventory from now on. */
Collector *collector_new(RdmadModule *self, const MetricsSettings *settings);
/* Not while there are requests that are neither answered nor cancelled. */
void collector_free(Collector *collector);
/* Takes other settings; readings under way are completed. */
void collector_configure(Collector *collector, const MetricsSettings *settings);

/* Called once, from the top of the loop; the handle is invalid from then on.  `snapshot` is borrowed. */
typedef void (*CollectorFunc)(Snapshot *snapshot, gpointer data);
CollectorRequest *collector_request(Collector *collector, guint deadline_ms, CollectorFunc fn,
				    gpointer data);
/* `fn` will not be called. */
void collector_request_cancel(CollectorRequest *request);

/* Called for each reading as it ends, for any request; one watcher. */
typedef void (*CollectorWatch)(const DeviceSample *sample, gpointer data);
void collector_watch(Collector *collector, CollectorWatch fn, gpointer data);
