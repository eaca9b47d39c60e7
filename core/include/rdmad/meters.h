/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: what rdmad counts of itself
 *
 * Core and modules register families here; whoever exports them (the metrics module) reads them all.
 * Names follow Prometheus: base units, the unit at the end, counters WITHOUT "_total".  Loop only; cheap
 * whether or not anybody reads.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_METER_LABELS 4u	/* at most, a family */
#define RDMAD_METER_SERIES 4096u	/* at most, a family: what is more is dropped and the log says so once */

typedef enum {
	RDMAD_METER_COUNTER,
	RDMAD_METER_GAUGE,
	RDMAD_METER_HISTOGRAM,
} RdmadMeterType;

typedef struct {
	RdmadMeterType type;
	const char *name;	/* "rdmad_grpc_calls" */
	const char *unit;	/* "seconds", "bytes", which the name ends with; or NULL */
	const char *help;
	const char *labels[RDMAD_METER_LABELS + 1];	/* names, NULL-terminated */
	const double *bounds;	/* HISTOGRAM: upper bounds, rising, 0 ends them; +Inf is added */
	/* May be NULL.  Called before the family is read, with its series dropped: sets them anew. */
	void (*collect)(RdmadMeter *meter, gpointer data);
} RdmadMeterClass;

/* `klass` must outlive it.  A name can be had once: RDMAD_ERROR_BUSY.  It goes with its owner. */
RDMAD_API RdmadMeter *rdmad_meters_add(RdmadMeters *meters, RdmadModule *owner,
				       const RdmadMeterClass *klass, gpointer data, GError **error);
RDMAD_API void rdmad_meter_free(RdmadMeter *meter);

/* `labels`: values in the order of the class's names, NULL-terminated; NULL where it has none.  A series
 * begins when it is first named; add 0 to show it before anything happened.  `meter` NULL: nothing. */
RDMAD_API void rdmad_meter_add(RdmadMeter *meter, double amount, const char *const *labels);
RDMAD_API void rdmad_meter_set(RdmadMeter *meter, double value, const char *const *labels);
RDMAD_API void rdmad_meter_observe(RdmadMeter *meter, double value, const char *const *labels);
/* Forgets one series. */
RDMAD_API void rdmad_meter_drop(RdmadMeter *meter, const char *const *labels);

typedef struct {
	const char *const *labels;	/* values */
	double value;			/* COUNTER, GAUGE; HISTOGRAM: the sum */
	guint64 count;			/* HISTOGRAM */
	const guint64 *buckets;		/* HISTOGRAM: not cumulative; one more than `bounds` */
} RdmadMeterSeries;

/* In the order of names; `series` in the order of their first use. */
typedef void (*RdmadMeterFunc)(const RdmadMeterClass *klass, const RdmadMeterSeries *series,
			       guint n_series, gpointer data);
RDMAD_API void rdmad_meters_foreach(RdmadMeters *meters, RdmadMeterFunc fn, gpointer data);
