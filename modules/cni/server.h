/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of rdmad-cni, and their order
 *
 * Operations of one container run one after the other, in their order; those of different ones side by
 * side, ADDs up to `requests` at once.  A DEL waits for its own container only, and overtakes the ADD of
 * its attachment.  No ADD begins before what was left over, by an earlier rdmad or in the spool, was
 * tried.
 */
#pragma once

#include "cni.h"

CniServer *cni_server_new(Cni *cni, GError **error);
void cni_server_free(CniServer *server);

/* Attachments that ended without a DEL: those of another boot, of dead namespaces, that were not
 * finished, or could not be undone before. */
void cni_server_reconcile(CniServer *server, gboolean at_start);
/* An allocation ended: whether its attachments have, too, is seen a little later. */
void cni_server_hint(CniServer *server);

/* ADDs that wait are refused, those that run have half of the time of a stop, and are undone then;
 * `drained` is called from the top of the loop. */
void cni_server_drain(CniServer *server, void (*drained)(gpointer data), gpointer data);

guint cni_server_running(const CniServer *server);
guint cni_server_waiting(const CniServer *server);
guint cni_server_spooled(const CniServer *server);
const char *cni_server_path(const CniServer *server);
