/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/hand-over.h>
#include <rdmad/message-socket.h>

RdmadHandOver *rdmad_hand_over_new(RdmadLoop *loop);
void rdmad_hand_over_free(RdmadHandOver *hand_over);

/* ---- to the successor ---- */

void rdmad_hand_over_begin(RdmadHandOver *hand_over);
/* `still` is called once, from the loop, when all parts are still, or have had time enough. */
void rdmad_hand_over_freeze(RdmadHandOver *hand_over, void (*still)(gpointer data), gpointer data);
/* The next part that has something to give: the text of a message, g_free(), and its descriptors, which are
 * borrowed.  NULL: there is no more. */
char *rdmad_hand_over_next(RdmadHandOver *hand_over, int *fds, guint *n_fds);

/* ---- from the one before ---- */

/* Takes the descriptors of a message of rdmad_hand_over_next(). */
gboolean rdmad_hand_over_put(RdmadHandOver *hand_over, RdmadMessage *message, GError **error);
/* Parts that nobody has taken after half a minute are closed. */
void rdmad_hand_over_settle(RdmadHandOver *hand_over);
