/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector: reads all devices on request
 *
 * A device is read by one job at a time.  Concurrent requests share the reading, as do requests
 * within a second of its start, so many scrapers cost the device no more than one.  A response
 * at the deadline has the readings that are complete.
 */
#pragma once

#include <rdmad/types.h>

#include "settings.h"
#include "snapshot.h"

typedef struct Collector Collector;
typedef struct CollectorRequest CollectorRequest;

/* Watches the inventory from now on. */
Collector *collector_new(RdmadModule *self, const MetricsSettings *settings);
/* All requests must have been answered or cancelled. */
void collector_free(Collector *collector);
/* Changes the settings.  Drops devices that are no longer selected; readings of others complete. */
void collector_configure(Collector *collector, const MetricsSettings *settings);

/* Called once, from the top of the loop; the handle is invalid from then on.  `snapshot` is
 * borrowed. */
typedef void (*CollectorFunc)(Snapshot *snapshot, gpointer data);
CollectorRequest *collector_request(Collector *collector, guint deadline_ms, CollectorFunc fn,
				    gpointer data);
/* Cancels the request; `fn` is not called. */
void collector_request_cancel(CollectorRequest *request);

/* Called for each reading of any request that has ended, also after an error; one watcher. */
typedef void (*CollectorWatch)(const DeviceSample *sample, gpointer data);
void collector_watch(Collector *collector, CollectorWatch fn, gpointer data);
