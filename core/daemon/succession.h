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

/* Asks the running rdmad, unless it was asked before. */
void rdmad_succession_ask(RdmadSuccession *succession, gboolean now);
/* Returns whether the running rdmad has more to give. */
gboolean rdmad_succession_receives(const RdmadSuccession *succession);
