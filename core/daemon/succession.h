/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Succession: a running rdmad hands over to its successor, which may hand back
 *
 *	successor                 running rdmad (hand-over.sock in the run directory)
 *	  {"now": ...}     ->     (at once to its own instance, else when it is stopped)
 *	                   <-     {"refused": ...} to another instance
 *	                   <-     {"part": ...} with descriptors; its parts are still
 *	  {"next": ...}    ->     ... the next part ...
 *	                   <-     {"given": ...} with its locks; it begins its next life
 *	  {"used": ...}    ->     (closes its copies of the parts)
 *
 * A successor without "now" waits until the running rdmad is stopped.
 *
 * The connection stays, with the roles exchanged: who has given waits as a successor without "now".
 * It keeps copies of the parts until the other one uses them.  If that ends before, it has the
 * locks next, and goes on where the parts were.  An rdmad that has begun to give and has lost its
 * successor is its own.
 */
#pragma once

#include <rdmad/types.h>

#include "daemon/instance.h"
#include "daemon/place.h"

/* Lives longer than the loop: attached to that of one life after the other. */
typedef struct RdmadSuccession RdmadSuccession;

typedef struct {
	/* A successor does not wait.  Called once in a life. */
	void (*asked)(gpointer data);
	/* Successors of other instances have come or gone: rdmad_succession_others(). */
	void (*others_changed)(gpointer data);
} RdmadSuccessionOps;

RdmadSuccession *rdmad_succession_new(const char *run_dir);
void rdmad_succession_free(RdmadSuccession *succession);
/* Call at the beginning of each life, with its process and its locks. */
void rdmad_succession_attach(RdmadSuccession *succession, RdmadLoop *loop, RdmadHandOver *hand_over,
			     const RdmadInstance *self, RdmadPlace *place);
/* Call at the end of each life, before its loop ends.  Keeps the connection to the successor that
 * was given to. */
void rdmad_succession_detach(RdmadSuccession *succession);
/* Call when nothing of the life is left but its locks: passes them on to that successor.  `ends`:
 * the process does not wait for another life. */
void rdmad_succession_pass(RdmadSuccession *succession, const RdmadInstance *self,
			   const RdmadPlace *place, gboolean ends);

/* ---- the running rdmad ---- */

gboolean rdmad_succession_serve(RdmadSuccession *succession, const RdmadSuccessionOps *ops,
				gpointer data, GError **error);
/* Creates the socket again if it was removed. */
gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error);
/* Returns the successor that gets the parts, or NULL. */
const RdmadInstance *rdmad_succession_next(const RdmadSuccession *succession);
/* Returns the waiting successors of other instances as RdmadInstance, which are borrowed. */
GPtrArray *rdmad_succession_others(const RdmadSuccession *succession);
/* Gives all still parts.  Calls `given` from the loop when the successor has them or has gone. */
void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data),
			   gpointer data);

/* ---- the successor ---- */

/* Asks the running rdmad, which held the lock just before, unless it was asked before.  `any`: the
 * instance of the running rdmad does not matter. */
void rdmad_succession_ask(RdmadSuccession *succession, const RdmadLockHolder *running, gboolean now,
			  gboolean any);
/* Returns whether the running rdmad knows that this one waits, so that its end is noticed. */
gboolean rdmad_succession_is_known(const RdmadSuccession *succession);
/* Returns whether the running rdmad has more to give. */
gboolean rdmad_succession_receives(const RdmadSuccession *succession);
/*
 * Call with the locks held.  Continues the parts that `last`, the last holder of the lock, gave, or
 * those that it or its successor did not use; closes all others.  An rdmad that ran afterwards has
 * registered at kubelet, which thereby gave up the connections.  If that rdmad gave some too,
 * kubelet notices the end of the older ones after it has registered, and stops its endpoints
 * instead.
 */
void rdmad_succession_judge(RdmadSuccession *succession, const RdmadLockHolder *last);
/* Returns the last rdmad of another instance that refused to give over, or gave over, to this life;
 * or NULL. */
const RdmadInstance *rdmad_succession_other(const RdmadSuccession *succession);
