/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: one ADD, DEL or CHECK from its request to its answer
 *
 * An ADD that fails, is overtaken by a DEL, or whose caller hung up, has undone everything when it
 * ends.
 */
#pragma once

#include <rdmad/message-socket.h>

#include "choice.h"
#include "cni.h"
#include "ipam/ipam.h"

typedef struct CniLook CniLook;
typedef struct CniLooking CniLooking;
typedef struct CniOperation CniOperation;
typedef struct CniUndo CniUndo;

/* Called once, as the last thing: `text` goes to standard output, NULL: nothing. */
typedef void (*CniOperationDone)(CniOperation *op, const char *text, const GError *error);

struct CniOperation {
	Cni *cni;
	CniSettings *settings; /* of its beginning; a reload does not change them */
	CniRequest *request;   /* NULL: an attachment that nobody asks for any more */
	char *key;	       /* of the attachment */
	char *container_id;
	int netns; /* -1: none was given */
	RdmadNetnsId netns_id;
	CniOperationDone done;
	RdmadMessagePeer *peer; /* NULL: nobody waits */
	char *spooled;		/* name in the spool; NULL: not of it */
	gint64 began_us;
	gboolean is_running, cancelled;
	RdmadEvent *deadline;

	/* Of an ADD or CHECK that runs. */
	gboolean asked_pods, asked_api;
	RdmadPodQuery *query; /* of the pod's annotations; NULL: none is under way */
	CniAttachment *attachment;
	GPtrArray *entries, *choices, *devices;
	GPtrArray *ipam_results; /* of CniResult */
	GArray *ends;		 /* of guint: the steps of each NIC end before this one */
	CniLook *look;
	CniLooking *looking;
	CniIpam *ipam;
	CniUndo *undo;
	guint64 execution;
	CniResult *result;
	GError *problem;
};

/* Both are taken over; `netns` -1: none.  `key` and `container_id` are copied. */
CniOperation *cni_operation_new(Cni *cni, CniRequest *request, int netns, const RdmadNetnsId *id,
				CniOperationDone done);
/* Of an attachment that is to go. */
CniOperation *cni_operation_new_undo(Cni *cni, const CniAttachment *attachment,
				     CniOperationDone done);
void cni_operation_free(CniOperation *op);

void cni_operation_start(CniOperation *op);
/* An ADD undoes what it did, and fails; it may be over when this returns. */
void cni_operation_cancel(CniOperation *op, const char *why);

void cni_add_start(CniOperation *op);
/* It ends, and waits for nobody's answer any more. */
void cni_add_cancel(CniOperation *op);
/* The end of an ADD or CHECK; the first problem is told.  `problem` is taken over. */
void cni_add_fail(CniOperation *op, GError *problem);
void cni_check_start(CniOperation *op);

/* ---- what pods were allocated, and what attachments use: slots.c ---- */

/* Of CniSlot; valid until the turn of the loop ends.  `unsure`: a list of podresources may give others.  `missing`: a
 * device of the pod that is not there now, or NULL. */
GArray *cni_slots_of(Cni *cni, const CniRequest *request, gboolean *unsure, const char **missing);
/* Chooses; the devices of the choices are referenced by `devices` (of RdmadDevice), and their slots are
 * valid until the turn of the loop ends.  Errors as those of cni_choose(). */
GPtrArray *cni_slots_choose(Cni *cni, const CniRequest *request, const GArray *slots,
			    const GPtrArray *entries, GPtrArray *devices, GError **error);
/* Of the device of a choice; its capacity is the look's. */
CniGids cni_slots_gids(Cni *cni, const CniChoice *choice);

/*
 * ---- undo.c: takes an attachment back: its steps, its addresses from IPAM, its entry in the journal ----
 *
 * Wherever that stops, the entry is still there and it may be begun again.  A NIC that is neither in the
 * host nor in the pod holds up nobody: the entry stays, as LEFT, and is tried again.
 */

/* The undo is over.  `error` NULL: it is undone, and `attachment` no longer exists, unless it is
 * LEFT. */
typedef void (*CniUndoDone)(const GError *error, gpointer data);

/* `netns`: of the pod, stays the caller's; -1: found by the path of the attachment, if that still leads
 * to it.  `*undo` is set until `done` was called, which may be before this returns. */
void cni_undo_start(Cni *cni, CniAttachment *attachment, int netns, CniUndo **undo,
		    CniUndoDone done, gpointer data);
/* When the module ends, after its executor; `done` is not called.  NULL is fine. */
void cni_undo_free(CniUndo *undo);

/*
 * ---- gc.c: GC is answered once the attachments that the runtime no longer has are undone ----
 *
 * Each attachment that goes gets the DEL of its IPAM plugin as any other; then the network's plugin gets
 * a GC of its own, whose list names every NIC of the attachments that stay.
 */

typedef struct CniGc CniGc;

/* Called once, as the last thing.  CNI_ERROR_TRY_AGAIN: it did not end within request_timeout, and goes
 * on; CNI_ERROR_IPAM. */
typedef void (*CniGcDone)(CniGc *gc, const GError *error, gpointer data);

/* `request` is taken over. */
CniGc *cni_gc_new(Cni *cni, CniRequest *request, CniGcDone done, gpointer data);
void cni_gc_free(CniGc *gc);

/* Whether it takes an attachment down. */
gboolean cni_gc_collects(const CniGc *gc, const CniAttachment *attachment);
/* The undo of an attachment is awaited. */
void cni_gc_await(CniGc *gc, const char *key);
/* All that is awaited is known; may call `done`. */
void cni_gc_start(CniGc *gc);
/* An operation ended; may call `done`. */
void cni_gc_ended(CniGc *gc, const char *key, const GError *error);
/* Answers CNI_ERROR_TRY_AGAIN. */
void cni_gc_cancel(CniGc *gc, const char *why);
