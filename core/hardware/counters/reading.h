/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading builder: a reading while it is made, by one worker
 *
 * Each source of counters adds to it, in any order; sources in back-off are skipped.
 */
#pragma once

#include "hardware/netlink/socket.h"
#include "hardware/counters/backoff.h"
#include "hardware/counters/name-list.h"

typedef gint64 (*RdmadClock)(void); /* monotonic, in microseconds */

typedef struct {
	const RdmadSysroot *root;
	const RdmadDevice *dev;
	RdmadNetlink *rdma; /* NETLINK_RDMA, borrowed; NULL: not available */
	RdmadBackoff *backoff;
	RdmadFileBudget *budget; /* may be NULL */
	const RdmadJob *job;	 /* may be NULL */
	RdmadClock clock;
	gint64 time_us;	       /* start of the reading */
	gboolean missing;      /* something was missing: the device may have been removed */
	GStringChunk *strings; /* storage of names ... */
	GPtrArray *names;      /* ... or RdmadNameList that have them */
	GArray *counters;      /* RdmadCounter */
	GArray *ports;	       /* RdmadPortReading */
	GArray *users;	       /* RdmadDeviceUser; for users.c */
	guint users_unlisted;
	int users_errnum;
} RdmadReadingBuilder;

/* The caller sets the members up to `clock` before. */
void rdmad_reading_builder_init(RdmadReadingBuilder *builder);
void rdmad_reading_builder_clear(RdmadReadingBuilder *builder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadReadingBuilder, rdmad_reading_builder_clear)
/* Returns whether the reading is no longer needed.  Check it between files and requests. */
gboolean rdmad_reading_builder_cancelled(const RdmadReadingBuilder *builder);

/* Keeps the list as long as the reading, for keys that are `held`. */
void rdmad_reading_builder_hold(RdmadReadingBuilder *builder, RdmadNameList *names);
/* Returns FALSE if the counter is in back-off, which the reading then reports.  `name` NULL: the
 * group. */
gboolean rdmad_reading_builder_may_read(RdmadReadingBuilder *builder, const RdmadCounterKey *key);
void rdmad_reading_builder_add(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
			       guint64 value);
/* Records the failure in the reading and holds the counter in back-off. */
void rdmad_reading_builder_add_failed(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      int errnum);
/* Adds a value, or a failure if `errnum` is not 0. */
void rdmad_reading_builder_add_result(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      guint64 value, int errnum);
/* Moves a counter behind those that were added after it. */
void rdmad_reading_builder_put_last(RdmadReadingBuilder *builder, guint place);

/* Returns the sorted reading and empties the builder. */
RdmadReading *rdmad_reading_builder_finish(RdmadReadingBuilder *builder);
