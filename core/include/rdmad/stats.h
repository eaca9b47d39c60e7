/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stats: metrics of rdmad itself
 *
 * The core and modules register families; an exporter (the metrics module) reads them all.  Names
 * follow Prometheus: base units, the unit at the end, but counters without "_total".  All functions
 * are for the loop.  Counting is cheap, with a reader or without.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_STAT_LABELS 4u /* maximum of a family */
#define RDMAD_STAT_SERIES                                                                          \
	4096u /* maximum of a family; further series are dropped, and the first drop is logged */

typedef enum {
	RDMAD_STAT_COUNTER,
	RDMAD_STAT_GAUGE,
	RDMAD_STAT_HISTOGRAM,
} RdmadStatType;

typedef struct {
	RdmadStatType type;
	const char *name; /* "rdmad_grpc_calls" */
	const char *unit; /* "seconds", "bytes": the end of the name; or NULL */
	const char *help;
	const char *labels[RDMAD_STAT_LABELS + 1]; /* names, NULL-terminated */
	const double *bounds; /* HISTOGRAM: ascending upper bounds without +Inf; 0 ends them */
	/* Called before the family is read, with all values 0: sets all series again.  A series
	 * that is not set is dropped.  May be NULL. */
	void (*collect)(RdmadStat *stat, gpointer data);
} RdmadStatClass;

/* Adds a family, which is freed with its owner.  `klass` must outlive it.  RDMAD_ERROR_BUSY: the
 * name is in use. */
RDMAD_API RdmadStat *rdmad_stats_add(RdmadStats *stats, RdmadModule *owner,
				     const RdmadStatClass *klass, gpointer data, GError **error);
/* Does nothing if `stat` is NULL. */
RDMAD_API void rdmad_stat_free(RdmadStat *stat);

/* Add to, set or observe a value of a series.  `labels` are values in the order of the class's
 * names, NULL-terminated, or NULL if it has none.  The first call for a series makes it; add 0 to
 * show it before the first event.  Does nothing if `stat` is NULL. */
RDMAD_API void rdmad_stat_add(RdmadStat *stat, double amount, const char *const *labels);
RDMAD_API void rdmad_stat_set(RdmadStat *stat, double value, const char *const *labels);
RDMAD_API void rdmad_stat_observe(RdmadStat *stat, double value, const char *const *labels);
/* Removes one series. */
RDMAD_API void rdmad_stat_drop(RdmadStat *stat, const char *const *labels);

typedef struct {
	const char *const *labels; /* values */
	double value;		   /* COUNTER, GAUGE; HISTOGRAM: the sum */
	guint64 count;		   /* HISTOGRAM */
	const guint64 *buckets;	   /* HISTOGRAM: not cumulative; the last is for +Inf */
} RdmadStatSeries;

/* Called for each family in the order of names; `series` are in the order of their first use. */
typedef void (*RdmadStatFunc)(const RdmadStatClass *klass, const RdmadStatSeries *series,
			      guint n_series, gpointer data);
RDMAD_API void rdmad_stats_foreach(RdmadStats *stats, RdmadStatFunc fn, gpointer data);
