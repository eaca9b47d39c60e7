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

typedef struct AllocateWait AllocateWait;

AllocateWait *allocate_wait_new(RdmadModule *self);
/* Fails the calls that wait. */
void allocate_wait_free(AllocateWait *wait);

typedef void (*AllocateWaitFunc)(RdmadGrpcCall *call, const guint8 *message, gsize size,
				 gint64 asked_us, gpointer data);

/* Calls `fn` once podresources has answered or failed to.  FALSE: too many calls wait. */
gboolean allocate_wait_add(AllocateWait *wait, RdmadGrpcCall *call, const guint8 *message,
			   gsize size, AllocateWaitFunc fn, gpointer data);
/* Fails the calls that wait with this `data`. */
void allocate_wait_drop(AllocateWait *wait, gpointer data);
