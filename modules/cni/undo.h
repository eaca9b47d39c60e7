/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an attachment back: its steps, then its addresses from IPAM, then its entry in the journal
 *
 * Wherever that stops, the entry is still there and it may be begun again.  A NIC that is neither in the
 * host nor in the pod holds up nobody: the entry stays, as LEFT, and is tried again.
 */
#pragma once

#include "attachment.h"
#include "cni.h"

typedef struct CniUndo CniUndo;

/* The undo is over.  `error` NULL: it is undone, and `attachment` no longer exists, unless it is
 * LEFT. */
typedef void (*CniUndoDone)(const GError *error, gpointer data);

/* `netns`: of the pod, stays the caller's; -1: what the path of the attachment leads to, if it still is
 * that namespace.  `*undo` is set until `done` was called, which may
 * be before this returns. */
void cni_undo_start(Cni *cni, CniAttachment *attachment, int netns, CniUndo **undo,
		    CniUndoDone done, gpointer data);
/* When the module ends, after its executor; `done` is not called.  NULL is fine. */
void cni_undo_free(CniUndo *undo);
