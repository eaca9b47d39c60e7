/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate calls that wait for podresources
 *
 * After a restart kubelet may have lost the holder of a slot that it gives (see
 * rdmad/allocations.h).  A call for such a slot is answered after one List that is younger than the
 * call. Kubelet holds no lock of its device manager while it waits for Allocate, so it can list.
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>

typedef struct RdmadAllocateWait RdmadAllocateWait;

RdmadAllocateWait *rdmad_allocate_wait_new(RdmadModule *self);
/* Fails the calls that wait. */
void rdmad_allocate_wait_free(RdmadAllocateWait *wait);

typedef void (*RdmadAllocateWaitFunc)(RdmadGrpcCall *call, const guint8 *message, gsize size,
				      gint64 asked_us, gpointer data);

/* Calls `fn` once podresources has answered or failed to.  FALSE: too many calls wait. */
gboolean rdmad_allocate_wait_add(RdmadAllocateWait *wait, RdmadGrpcCall *call,
				 const guint8 *message, gsize size, RdmadAllocateWaitFunc fn,
				 gpointer data);
/* Fails the calls that wait with this `data`. */
void rdmad_allocate_wait_drop(RdmadAllocateWait *wait, gpointer data);
