/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate calls on their way to an answer
 *
 * Those of one turn of the loop are answered together, for one wait for the disk.  After a restart
 * kubelet may have lost the holder of a slot that it gives (see rdmad/allocations.h): a call for such a
 * slot is answered after one List of podresources that is younger than the call.  Kubelet holds no lock
 * of its device manager while it waits for Allocate, so it can list.
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>

#include "allocate/delivery.h"
#include "pool.h"

typedef struct AllocateQueue AllocateQueue;

/* `answer` NULL: refused.  `arrived_us`: monotonic. */
typedef void (*AllocateDoneFunc)(RdmadGrpcCall *call, GBytes *answer, const GError *refusal,
				 gint64 arrived_us, gpointer data);

AllocateQueue *allocate_queue_new(RdmadModule *self, Delivery *delivery, AllocateDoneFunc done);
/* Fails the calls that are in it. */
void allocate_queue_free(AllocateQueue *queue);
/* `done` is called with `data` on this turn of the loop, or once podresources has answered or failed to. */
void allocate_queue_add(AllocateQueue *queue, RdmadGrpcCall *call, const Pool *pool,
			const guint8 *message, gsize size, gpointer data);
/* Fails the calls of this `data`. */
void allocate_queue_drop(AllocateQueue *queue, gpointer data);
