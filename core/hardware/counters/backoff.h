/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back-off: a counter that failed is skipped for a while
 *
 * Each read of a counter that the firmware rejects may log a line in the kernel.  One back-off
 * belongs to one device; all functions may be called from any thread.
 */
#pragma once

#include <rdmad/counters.h>

#define RDMAD_BACKOFF_FIRST_US (10 * G_USEC_PER_SEC)
#define RDMAD_BACKOFF_LAST_US  (3600 * (gint64)G_USEC_PER_SEC)
#define RDMAD_BACKOFF_MAX      4096u /* limit of entries; further counters have no back-off */

/* A counter; members as in RdmadCounter. */
typedef struct {
	RdmadCounterGroup group;
	guint port;
	const char *netdev;
	const char *name; /* NULL: the whole group */
	gboolean held;	  /* the reading's name list holds the names, so they are not copied */
} RdmadCounterKey;

typedef struct RdmadBackoff RdmadBackoff;

RdmadBackoff *rdmad_backoff_new(void);
RdmadBackoff *rdmad_backoff_ref(RdmadBackoff *backoff);
void rdmad_backoff_unref(RdmadBackoff *backoff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadBackoff, rdmad_backoff_unref)

/* Returns the errno of a counter that is in back-off at `now_us` (monotonic), or 0. */
int rdmad_backoff_errnum(RdmadBackoff *backoff, const RdmadCounterKey *key, gint64 now_us);
/* Records a failure: each repetition of the same errno doubles the back-off.  Has no effect for a
 * vanished counter (ENOENT, ENODEV, ENXIO), or one that was not read (EMFILE, ENFILE, EINTR). */
void rdmad_backoff_hold(RdmadBackoff *backoff, const RdmadCounterKey *key, int errnum,
			gint64 now_us);
/* Ends the back-off after a successful read. */
void rdmad_backoff_lift(RdmadBackoff *backoff, const RdmadCounterKey *key);
