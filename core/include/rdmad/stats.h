/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stats: what rdmad counts of itself
 *
 * Core and modules register families here; an exporter (the metrics module) reads them all. Names
 * follow Prometheus: base units, the unit at the end, counters WITHOUT "_total".  Loop only; cheap
 * whether or not anybody reads.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_STAT_LABELS 4u /* at most, a family */
#define RDMAD_STAT_SERIES                                                                          \
	4096u /* series at most a family; more are dropped, which is logged once */

typedef enum {
	RDMAD_STAT_COUNTER,
	RDMAD_STAT_GAUGE,
	RDMAD_STAT_HISTOGRAM,
} RdmadStatType;

typedef struct {
	RdmadStatType type;
	const char *name; /* "rdmad_grpc_calls" */
	const char *unit; /* "seconds", "bytes", which the name ends with; or NULL */
	const char *help;
	const char *labels[RDMAD_STAT_LABELS + 1]; /* names, NULL-terminated */
	const double *bounds; /* HISTOGRAM: upper bounds, rising, 0 ends them; +Inf is added */
	/* May be NULL.  Called before the family is read, with its series dropped: sets them
	 * again. */
	void (*collect)(RdmadStat *stat, gpointer data);
} RdmadStatClass;

/* `klass` must outlive it.  A name can be had once: RDMAD_ERROR_BUSY.  It goes with its owner. */
RDMAD_API RdmadStat *rdmad_stats_add(RdmadStats *stats, RdmadModule *owner,
				     const RdmadStatClass *klass, gpointer data, GError **error);
RDMAD_API void rdmad_stat_free(RdmadStat *stat);

/* `labels`: values in the order of the class's names, NULL-terminated; NULL where it has none.  A
 * series begins when it is first named; add 0 to show it before anything happened.  `stat` NULL:
 * nothing. */
RDMAD_API void rdmad_stat_add(RdmadStat *stat, double amount, const char *const *labels);
RDMAD_API void rdmad_stat_set(RdmadStat *stat, double value, const char *const *labels);
RDMAD_API void rdmad_stat_observe(RdmadStat *stat, double value, const char *const *labels);
/* Forgets one series. */
RDMAD_API void rdmad_stat_drop(RdmadStat *stat, const char *const *labels);

typedef struct {
	const char *const *labels; /* values */
	double value;		   /* COUNTER, GAUGE; HISTOGRAM: the sum */
	guint64 count;		   /* HISTOGRAM */
	const guint64 *buckets;	   /* HISTOGRAM: not cumulative; one more than `bounds` */
} RdmadStatSeries;

/* In the order of names; `series` in the order of their first use. */
typedef void (*RdmadStatFunc)(const RdmadStatClass *klass, const RdmadStatSeries *series,
			      guint n_series, gpointer data);
RDMAD_API void rdmad_stats_foreach(RdmadStats *stats, RdmadStatFunc fn, gpointer data);
