/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quarantine: what failed is left alone for a while
 *
 * Each try of a counter that the firmware refuses may be a line in the kernel's log.  One quarantine
 * belongs to one device; all functions may be called from any thread.
 */
#pragma once

#include <rdmad/counters.h>

#define RDMAD_QUARANTINE_FIRST_US (10 * G_USEC_PER_SEC)
#define RDMAD_QUARANTINE_LAST_US  (3600 * (gint64)G_USEC_PER_SEC)
#define RDMAD_QUARANTINE_MAX	  4096u /* entries; what fails beyond them is tried each time */

/* Which counter; members as in RdmadCounter. */
typedef struct {
	RdmadCounterGroup group;
	guint port;
	const char *netdev;
	const char *name; /* NULL: the whole group */
} RdmadCounterKey;

typedef struct RdmadQuarantine RdmadQuarantine;

RdmadQuarantine *rdmad_quarantine_new(void);
RdmadQuarantine *rdmad_quarantine_ref(RdmadQuarantine *quarantine);
void rdmad_quarantine_unref(RdmadQuarantine *quarantine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadQuarantine, rdmad_quarantine_unref)

/* The errno that it failed with while it is to be left alone at `now_us` (monotonic), or 0. */
int rdmad_quarantine_errnum(RdmadQuarantine *quarantine, const RdmadCounterKey *key, gint64 now_us);
/* It failed: the time doubles with each try that ends in the same errno.  What has vanished (ENOENT,
 * ENODEV, ENXIO) is not held, nor what was not asked at all (EMFILE, ENFILE, EINTR). */
void rdmad_quarantine_hold(RdmadQuarantine *quarantine, const RdmadCounterKey *key, int errnum,
			   gint64 now_us);
/* It could be read. */
void rdmad_quarantine_lift(RdmadQuarantine *quarantine, const RdmadCounterKey *key);
