/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Succession: a running rdmad hands over to its successor
 *
 *	successor                 running rdmad (hand-over.sock in the run directory)
 *	  {"now": true}    ->     (drains; its parts become still)
 *	                   <-     {"part": ...} with descriptors
 *	  {"next": true}   ->     ... the next part ... ends, which releases the locks
 *
 * A successor without "now" waits until the running rdmad is stopped.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

#include "daemon/lock.h"

typedef struct RdmadSuccession RdmadSuccession;

RdmadSuccession *rdmad_succession_new(RdmadLoop *loop, RdmadHandOver *hand_over,
				      const char *run_dir);
void rdmad_succession_free(RdmadSuccession *succession);

/* ---- the running rdmad ---- */

/* Calls `asked` once, when a successor does not wait. */
gboolean rdmad_succession_serve(RdmadSuccession *succession, void (*asked)(gpointer data),
				gpointer data, GError **error);
/* Creates the socket again if it was removed. */
gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error);
/* Returns whether a successor waits. */
gboolean rdmad_succession_waits(const RdmadSuccession *succession);
pid_t rdmad_succession_pid(const RdmadSuccession *succession);
/* Gives all still parts.  Calls `given` from the loop when the successor has them or has gone. */
void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data),
			   gpointer data);

/* ---- the successor ---- */

/* Asks the running rdmad, which held the lock just before, unless it was asked before. */
void rdmad_succession_ask(RdmadSuccession *succession, const RdmadLockHolder *running,
			  gboolean now);
/* Returns whether the running rdmad has more to give. */
gboolean rdmad_succession_receives(const RdmadSuccession *succession);
/*
 * Closes what was given unless `last`, the last holder of the lock, gave all of it.  An rdmad that ran
 * afterwards has registered at kubelet, which thereby gave up the connections.  If that rdmad gave some
 * too, kubelet notices the end of the older ones after it has registered, and stops its endpoints instead.
 */
void rdmad_succession_judge(RdmadSuccession *succession, const RdmadLockHolder *last);
