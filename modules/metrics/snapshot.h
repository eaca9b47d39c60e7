/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshot: all devices at one scrape
 *
 * Published samples and snapshots are immutable and shared by reference: scrapers and the page may
 * have the same sample, and a worker that renders may drop the last reference.
 */
#pragma once

#include <rdmad/counters.h>
#include <rdmad/device.h>

#include "pod-names.h"

/* Names of the families of devices; rdmad's own families are always present. */
typedef enum {
	NAMES_NATIVE, /* rdma_* */
	NAMES_COMPAT, /* node_infiniband_*, as node_exporter has them */
	NAMES_BOTH,
} NamesMode;

/* One device, read once. */
typedef struct {
	int refs;
	const RdmadDevice *device; /* a reference */
	RdmadReading *reading;	   /* NULL: late or failed; values are unwrapped already */
	char *error;		   /* reason why there is no reading */
	PodNames *pods;		   /* for the uids of the reading's users; may be NULL */
	double seconds; /* duration of the reading, also of a failed one; 0: it did not end */
} DeviceSample;

DeviceSample *device_sample_new(const RdmadDevice *device);
DeviceSample *device_sample_ref(DeviceSample *sample);
void device_sample_unref(DeviceSample *sample);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceSample, device_sample_unref)

typedef struct {
	int refs;
	GPtrArray *devices; /* of DeviceSample, in the order of the inventory */
	NamesMode names;
	RdmadReadWhat what; /* the requested parts */
	gboolean gids;	    /* expose the GIDs */
	gint64 time_us;	    /* monotonic, when it was requested */
	double seconds;	    /* duration until it was complete or the deadline passed */
} Snapshot;

Snapshot *snapshot_new(void);
Snapshot *snapshot_ref(Snapshot *snapshot);
void snapshot_unref(Snapshot *snapshot);
/* Returns whether both make the same text, but for the duration of the reading. */
gboolean snapshot_is_like(const Snapshot *a, const Snapshot *b);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Snapshot, snapshot_unref)
