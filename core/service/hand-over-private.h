/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/hand-over.h>
#include <rdmad/message-socket.h>

RdmadHandOver *rdmad_hand_over_new(RdmadLoop *loop);
void rdmad_hand_over_free(RdmadHandOver *hand_over);

/* ---- to the successor ---- */

/* From now on rdmad_hand_over_under_way() returns TRUE. */
void rdmad_hand_over_begin(RdmadHandOver *hand_over);
/* Calls `still` once, from the loop, when all parts are still or the time limit has passed. */
void rdmad_hand_over_freeze(RdmadHandOver *hand_over, void (*still)(gpointer data), gpointer data);
/* Returns a message (RdmadMessage) for each part that is still, and for each that was put and is
 * not taken, with copies of its descriptors. */
GPtrArray *rdmad_hand_over_collect(const RdmadHandOver *hand_over);

/* ---- from the predecessor ---- */

/* Calls `used` once, before a part that was put is used or closed.  The end of the process, or of
 * `hand_over`, is not a use: the connections go on where the predecessor has copies. */
void rdmad_hand_over_set_used(RdmadHandOver *hand_over, void (*used)(gpointer data), gpointer data);
/* Takes the descriptors of a message of rdmad_hand_over_collect(), unless a part of that name was
 * put before.  RDMAD_ERROR_INVALID: it is not one. */
gboolean rdmad_hand_over_put(RdmadHandOver *hand_over, RdmadMessage *message, GError **error);
/* Closes all parts that were put. */
void rdmad_hand_over_discard(RdmadHandOver *hand_over);
/* Schedules the closing of parts that are not taken within half a minute. */
void rdmad_hand_over_settle(RdmadHandOver *hand_over);
