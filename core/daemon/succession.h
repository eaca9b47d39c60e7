/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Succession: one rdmad gives over to another
 *
 *	successor                 one that runs (hand-over.sock in the run directory)
 *	  {"now": true}    ->     (drains; its parts become still)
 *	                   <-     {"part": ...} with descriptors
 *	  {"next": true}   ->     ... the next part ... it ends, which gives the locks free
 *
 * A successor without "now" waits: it is given over to when the other one is told to stop.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

typedef struct RdmadSuccession RdmadSuccession;

RdmadSuccession *rdmad_succession_new(RdmadLoop *loop, RdmadHandOver *hand_over,
				      const char *run_dir);
void rdmad_succession_free(RdmadSuccession *succession);

/* ---- of the one that runs ---- */

/* `wanted` is called once, when a successor does not want to wait. */
gboolean rdmad_succession_serve(RdmadSuccession *succession, void (*wanted)(gpointer data),
				gpointer data, GError **error);
/* Its socket is made again if it is gone. */
gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error);
/* Whether a successor waits. */
gboolean rdmad_succession_waits(const RdmadSuccession *succession);
pid_t rdmad_succession_pid(const RdmadSuccession *succession);
/* Gives all parts that are still; `given` is called from the loop when the successor has them, or has gone. */
void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data),
			   gpointer data);

/* ---- of the successor ---- */

/* Asks the one that runs, unless it was asked. */
void rdmad_succession_ask(RdmadSuccession *succession, gboolean now);
/* It has more to give. */
gboolean rdmad_succession_receives(const RdmadSuccession *succession);
