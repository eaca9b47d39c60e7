/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading while it is made
 *
 * Each source of counters adds to it, in any order; sources in back-off are skipped.  For the one
 * worker that reads.
 */
#pragma once

#include "hardware/netlink/socket.h"
#include "hardware/counters/backoff.h"
#include "hardware/counters/name-list.h"

typedef gint64 (*RdmadClock)(void); /* monotonic, in microseconds */

typedef struct {
	const RdmadSysroot *root;
	const RdmadDevice *dev;
	RdmadNetlink *rdma; /* NETLINK_RDMA, the reader's; NULL: not this machine, or it has none */
	RdmadBackoff *backoff;
	RdmadFileBudget *budget; /* may be NULL */
	const RdmadJob *job;	 /* may be NULL */
	RdmadClock clock;
	gint64 time_us;	       /* when the reading began */
	gboolean missing;      /* something was not there: perhaps the device is gone */
	GStringChunk *strings; /* what names point into ... */
	GPtrArray *names;      /* ... or RdmadNameList that they are in */
	GArray *counters;      /* RdmadCounter */
	GArray *ports;	       /* RdmadPortReading */
	GArray *users;	       /* RdmadDeviceUser; for users.c */
	guint users_unlisted;
	int users_errnum;
} RdmadReadingBuilder;

/* Members up to `clock` are the caller's. */
void rdmad_reading_builder_init(RdmadReadingBuilder *builder);
void rdmad_reading_builder_clear(RdmadReadingBuilder *builder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadReadingBuilder, rdmad_reading_builder_clear)
/* The reading is no longer needed: to be checked between files and requests. */
gboolean rdmad_reading_builder_cancelled(const RdmadReadingBuilder *builder);

/* The list stays as long as the reading: for keys that are `held`. */
void rdmad_reading_builder_hold(RdmadReadingBuilder *builder, RdmadNameList *names);
/* FALSE: in back-off, which the reading reports; not to be read now.  `name` NULL: the group. */
gboolean rdmad_reading_builder_may_read(RdmadReadingBuilder *builder, const RdmadCounterKey *key);
void rdmad_reading_builder_add(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
			       guint64 value);
/* Records the failure in the reading and holds the counter in back-off. */
void rdmad_reading_builder_add_failed(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      int errnum);
/* Both in one: `errnum` 0 is a value. */
void rdmad_reading_builder_add_result(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      guint64 value, int errnum);

/* The finished reading, sorted; the builder is empty then. */
RdmadReading *rdmad_reading_builder_finish(RdmadReadingBuilder *builder);
