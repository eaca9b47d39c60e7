/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshot: all devices at one scrape
 *
 * Immutable once it was handed out, and shared by reference: the page, several scrapers and a worker
 * that renders may have the same one.
 */
#pragma once

#include <rdmad/counters.h>

/* Which names the families of devices have; those of rdmad itself are there always. */
typedef enum {
	NAMES_NATIVE, /* rdma_* */
	NAMES_COMPAT, /* node_infiniband_*, as node_exporter has them */
	NAMES_BOTH,
} NamesMode;

/* One device at one scrape. */
typedef struct {
	const RdmadDevice *device; /* a reference */
	RdmadReading *reading;	   /* NULL: late or failed; values are unwrapped already */
	char *error;		   /* why there is no reading */
	double seconds;		   /* that the reading took */
} DeviceSample;

typedef struct {
	gint refs;
	GPtrArray *devices; /* DeviceSample, in the inventory's order */
	NamesMode names;
	RdmadReadWhat what; /* that was asked for */
	gint64 time_us;	    /* monotonic, when it was asked for */
	double seconds;	    /* until it was whole, or the deadline came */
} Snapshot;
