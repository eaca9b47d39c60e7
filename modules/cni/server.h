/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of rdmad-cni, and their order
 *
 * The operations of one container run one at a time, in order; operations of different containers
 * run in parallel, up to `requests` ADDs and CHECKs at once.  A DEL waits only for operations of
 * its own container, and cancels the ADD of its attachment.  No ADD starts before each leftover, of
 * an earlier rdmad or in the spool, was tried once for up to some seconds, or while the spool or a
 * record cannot be read.  While the IPAM plugin of a network does a GC, no ADD of that network
 * starts.
 */
#pragma once

#include <rdmad/allocations.h>

#include "cni.h"
#include "operation.h"

CniServer *cni_server_new(Cni *cni, GError **error);
void cni_server_free(CniServer *server);

/* Queues undos of the attachments that ended without a DEL: of another boot, with a namespace that
 * has ended, incomplete ones, and those that could not be undone before.  At the start of rdmad it
 * attaches the others to their allocations again. */
void cni_server_reconcile(CniServer *server, gboolean at_start);
/* Tells waiting and running ADDs that an allocation has ended. */
void cni_server_note_end(CniServer *server, const RdmadAllocation *allocation);
/* Schedules a reconciliation, a little later, after an allocation ended. */
void cni_server_hint(CniServer *server);

/* Returns whether an ADD that the GC would hold runs, and has no attachment yet. */
gboolean cni_server_is_choosing(const CniServer *server, const CniGc *gc);

/* Refuses queued ADDs and CHECKs.  Running ones are cancelled after half of the time of a stop; GCs
 * fail then.  `drained` is called from the top of the loop. */
void cni_server_drain(CniServer *server, void (*drained)(gpointer data), gpointer data);

guint cni_server_running(const CniServer *server);
guint cni_server_waiting(const CniServer *server);
guint cni_server_spooled(const CniServer *server);
const char *cni_server_path(const CniServer *server);
