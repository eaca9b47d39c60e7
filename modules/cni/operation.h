/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: one ADD, DEL or CHECK from its request to its answer
 *
 * An ADD that fails, is cancelled by a DEL, or whose caller closed the connection, undoes its
 * changes before it ends.  The server retries an undo that fails.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/message-socket.h>

#include "choice.h"
#include "cni.h"
#include "ipam/ipam.h"

typedef struct CniLook CniLook;
typedef struct CniLooking CniLooking;
typedef struct CniOperation CniOperation;
typedef struct CniUndo CniUndo;

/* Called once, at the end.  `text` is written to standard output; NULL: nothing. */
typedef void (*CniOperationDone)(CniOperation *op, const char *text, const GError *error);

struct CniOperation {
	Cni *cni;
	CniSettings *settings; /* as the operation started; a reload does not change them */
	CniRequest *request;   /* NULL: the undo of an attachment without a DEL */
	char *key;	       /* key of the attachment */
	char *container_id;
	int netns; /* -1: the request has none */
	RdmadNetnsId netns_id;
	CniOperationDone done;
	RdmadMessagePeer *peer; /* NULL: no caller waits */
	char *spooled;		/* name in the spool; NULL: received on the socket */
	gboolean again;		/* a leftover whose undo failed before */
	gint64 began_us;
	GPtrArray *ended; /* of RdmadAllocation: of the pod, and ended since the request came */
	gboolean keeps;	  /* undo without a request: cni_undo_start() */
	gboolean is_running, cancelled;
	RdmadEvent *deadline;

	/* Of a running ADD or CHECK. */
	gboolean asked_pods, asked_api;
	gboolean unnamed; /* the pod of an allocation, which may have ended since, was not known */
	RdmadPodQuery *query; /* of the pod's annotations; NULL: not running */
	guint undone_nics;    /* of its earlier attachment; 0: there is none */
	CniAttachment *attachment;
	GPtrArray *entries, *choices, *devices;
	GPtrArray *ipam_results; /* of CniResult */
	GArray *ends;		 /* of guint: index after the last step of each NIC */
	CniLook *look;
	CniLooking *looking;
	CniIpam *ipam;
	CniUndo *undo;
	guint64 execution;
	CniResult *result;
	GError *problem;
};

/* Takes ownership of `request` and `netns` (-1: none).  Copies the identifiers. */
CniOperation *cni_operation_new(Cni *cni, CniRequest *request, int netns, const RdmadNetnsId *id,
				CniOperationDone done);
/* Undoes an attachment without a request.  `keep` as of cni_undo_start(). */
CniOperation *cni_operation_new_undo(Cni *cni, const CniAttachment *attachment, gboolean keep,
				     CniOperationDone done);
void cni_operation_free(CniOperation *op);

void cni_operation_start(CniOperation *op);
/* Makes an ADD or CHECK fail, an ADD after it has undone its changes; one that waits fails when it
 * is started.  Other operations continue.  The operation may have ended when this returns. */
void cni_operation_cancel(CniOperation *op, const char *why);

void cni_add_start(CniOperation *op);
/* Notes the end of an allocation while an operation waits or runs. */
void cni_add_note_end(CniOperation *op, const RdmadAllocation *allocation);
/* Stops waiting for a list of podresources, before the operation is freed. */
void cni_add_cancel(CniOperation *op);
/* Ends an ADD or CHECK and reports the first problem.  Takes ownership of `problem`. */
void cni_add_fail(CniOperation *op, GError *problem);
void cni_check_start(CniOperation *op);

/* ---- slots.c: the slots of a pod's allocations, and those that attachments use ---- */

/* Returns an array of CniSlot, valid until the turn of the loop ends.  `unsure`: a new list of
 * podresources may change the result.  `missing`: a device of the pod that the inventory does not
 * have, or NULL. */
GArray *cni_slots_of(Cni *cni, const CniRequest *request, gboolean *unsure, const char **missing);
/* Returns whether the pod has, for each ended allocation, a later one of its container. */
gboolean cni_slots_replace(Cni *cni, const CniRequest *request, const GPtrArray *ended);
/* Runs cni_choose().  The operation holds references to the devices and the settings of the
 * choices; their slots are valid until the turn of the loop ends.  Errors as those of
 * cni_choose(). */
GPtrArray *cni_slots_choose(CniOperation *op, const GArray *slots, GError **error);
/* Counts the GIDs of the device of a choice.  The capacity comes from the look. */
CniGids cni_slots_gids(Cni *cni, const CniChoice *choice);

/*
 * ---- undo.c: undoes an attachment: its steps, its IPAM addresses, its entry in the journal ----
 *
 * After an error the entry is still in the journal, and the undo can be started again.  A NIC that
 * is neither in the host nor in the pod, or whose name another link of the host has taken, does not
 * block the DEL: the entry stays as LEFT, and the undo is retried.
 */

/* The undo has ended.  `error` NULL: it succeeded, and `attachment` no longer exists unless its
 * state is LEFT or UNDONE. */
typedef void (*CniUndoDone)(const GError *error, gpointer data);

/* `netns`: of the pod, owned by the caller; -1: opened by the path of the attachment, if that
 * still leads to its namespace.  `keep`: the runtime has not called DEL, so that the attachment
 * stays as UNDONE as long as its namespace is there.  `*undo` is set until `done` is called, which
 * may be before this returns. */
void cni_undo_start(Cni *cni, CniAttachment *attachment, int netns, gboolean keep, CniUndo **undo,
		    CniUndoDone done, gpointer data);
/* Frees an undo when the module ends, after its executor.  `done` is not called.  `undo` may be
 * NULL. */
void cni_undo_free(CniUndo *undo);

/*
 * ---- gc.c: answers a GC after the attachments that the runtime no longer has are undone ----
 *
 * The undo of each attachment calls DEL of its IPAM plugin.  Then the network's IPAM plugin gets a
 * GC, whose list names every NIC of the remaining attachments.
 */

typedef struct CniGc CniGc;

/* Called once, at the end.  CNI_ERROR_TRY_AGAIN: the undos did not end within request_timeout, and
 * continue.  CNI_ERROR_IPAM. */
typedef void (*CniGcDone)(CniGc *gc, const GError *error, gpointer data);

/* Takes ownership of `request`. */
CniGc *cni_gc_new(Cni *cni, CniRequest *request, CniGcDone done, gpointer data);
void cni_gc_free(CniGc *gc);

/* Returns whether the GC removes an attachment. */
gboolean cni_gc_collects(const CniGc *gc, const CniAttachment *attachment);
/* Makes the GC wait for the undo of an attachment. */
void cni_gc_await(CniGc *gc, const char *key);
/* Starts the GC once each awaited undo is added.  May call `done`. */
void cni_gc_start(CniGc *gc);
/* Reports the end of an operation.  May call `done`. */
void cni_gc_ended(CniGc *gc, const char *key, const GError *error);
/* Returns whether an ADD may not start before the GC has ended. */
gboolean cni_gc_holds(const CniGc *gc, const CniRequest *add);
/* Fails the GC with CNI_ERROR_TRY_AGAIN, and kills its IPAM plugin. */
void cni_gc_cancel(CniGc *gc, const char *why);
