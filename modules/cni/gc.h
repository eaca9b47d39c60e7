/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GC: answered once what the runtime no longer has is undone
 *
 * Each attachment that goes gets the DEL of its IPAM plugin as any other; then the network's plugin gets
 * a GC of its own, whose list names every NIC of the attachments that stay.
 */
#pragma once

#include <rdmad/message-socket.h>

#include "attachment.h"
#include "cni.h"

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
