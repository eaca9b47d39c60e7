/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back-off: what failed is left alone for a while
 *
 * Each try of a counter that the firmware refuses may be a line in the kernel's log.  One back-off
 * belongs to one device; all functions may be called from any thread.
 */
#pragma once

#include <rdmad/counters.h>

#define RDMAD_BACKOFF_FIRST_US (10 * G_USEC_PER_SEC)
#define RDMAD_BACKOFF_LAST_US  (3600 * (gint64)G_USEC_PER_SEC)
#define RDMAD_BACKOFF_MAX      4096u /* entries; counters beyond them are tried each time */

/* A counter; members as in RdmadCounter. */
typedef struct {
	RdmadCounterGroup group;
	guint port;
	const char *netdev;
	const char *name; /* NULL: the whole group */
	gboolean held;	  /* the names are in a list that the reading holds, and are not copied */
} RdmadCounterKey;

typedef struct RdmadBackoff RdmadBackoff;

RdmadBackoff *rdmad_backoff_new(void);
RdmadBackoff *rdmad_backoff_ref(RdmadBackoff *backoff);
void rdmad_backoff_unref(RdmadBackoff *backoff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadBackoff, rdmad_backoff_unref)

/* The errno that it failed with while it is to be left alone at `now_us` (monotonic), or 0. */
int rdmad_backoff_errnum(RdmadBackoff *backoff, const RdmadCounterKey *key, gint64 now_us);
/* Records a failure: the time doubles with each try that ends in the same errno.  A vanished
 * counter (ENOENT, ENODEV, ENXIO) is not held back, nor one that was not read at all (EMFILE,
 * ENFILE, EINTR). */
void rdmad_backoff_hold(RdmadBackoff *backoff, const RdmadCounterKey *key, int errnum,
			gint64 now_us);
/* It could be read. */
void rdmad_backoff_lift(RdmadBackoff *backoff, const RdmadCounterKey *key);
