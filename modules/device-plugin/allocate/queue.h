/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate queue: the pending Allocate calls
 *
 * The calls of one iteration of the loop are executed together, with one sync of the database.
 * After a restart kubelet may have lost the holder of a slot that it assigns (see
 * rdmad/allocations.h): a call for such a slot waits for a List of podresources that started
 * after the call arrived.  Kubelet holds no lock of its device manager while it waits for
 * Allocate, so it can answer List.
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>

#include "allocate/delivery.h"
#include "pool.h"

typedef struct AllocateQueue AllocateQueue;

/* `answer` NULL: the call failed with `refusal`.  `arrived_us`: monotonic. */
typedef void (*AllocateDoneFunc)(RdmadGrpcCall *call, GBytes *answer, const GError *refusal,
				 gint64 arrived_us, gpointer data);

AllocateQueue *allocate_queue_new(RdmadModule *self, Delivery *delivery, AllocateDoneFunc done);
/* Fails the pending calls. */
void allocate_queue_free(AllocateQueue *queue);
/* Calls `done` with `data` in this iteration of the loop, or after the List of podresources
 * succeeded or failed. */
void allocate_queue_add(AllocateQueue *queue, RdmadGrpcCall *call, const Pool *pool,
			const guint8 *message, gsize size, gpointer data);
/* Fails the pending calls with this `data`. */
void allocate_queue_drop(AllocateQueue *queue, gpointer data);
