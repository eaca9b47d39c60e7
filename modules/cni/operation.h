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
#include "undo.h"

typedef struct CniLook CniLook;
typedef struct CniLooking CniLooking;
typedef struct CniOperation CniOperation;

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
/* The end of an ADD or CHECK; the first problem is told.  `problem` is taken over. */
void cni_add_fail(CniOperation *op, GError *problem);
void cni_check_start(CniOperation *op);

/* ---- what pods were allocated, and what attachments use: slots.c ---- */

/* Of CniSlot; valid until the turn of the loop ends. */
GArray *cni_slots_of(Cni *cni, const CniRequest *request);
/* Chooses; the devices of the choices are referenced by `devices` (of RdmadDevice), and their slots are
 * valid until the turn of the loop ends.  Errors as those of cni_choose(). */
GPtrArray *cni_slots_choose(Cni *cni, const CniRequest *request, const GArray *slots,
			    const GPtrArray *entries, GPtrArray *devices, GError **error);
/* Of the device of a choice; its capacity is the look's. */
CniGids cni_slots_gids(Cni *cni, const CniChoice *choice);
