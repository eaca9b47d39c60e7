/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch: one job that reads devices, one after the other
 *
 * To wake a thread, and the loop after it, costs as much as to read a quick device: one job reads many.
 * Members are the caller's, one for each device.  A member leaves the batch when its reading has ended,
 * when it is withdrawn, or when it is dropped.
 */
#pragma once

#include "device-source.h"

typedef struct Batch Batch;

typedef struct {
	/* Its reading has ended.  `sample`, which is taken over, is NULL if the device has left. */
	void (*read)(gpointer member, DeviceSample *sample, gint64 began_us, gint64 took_us);
	/* It was not begun, and will not be. */
	void (*withdrawn)(gpointer member);
	/* The job has ended, and the batch with it. */
	void (*ended)(Batch *batch, gpointer data);
} BatchOps;

Batch *batch_new(const BatchOps *ops, gpointer data);
void batch_add(Batch *batch, const DeviceSource *source, gpointer member);
/* FALSE with an error: nothing was begun, and the batch is to be freed. */
gboolean batch_start(Batch *batch, RdmadModule *self, GError **error);
/* The job is cancelled; there are no more calls. */
void batch_free(Batch *batch);

/* Calls `read` for the readings that have ended, without waiting for the others. */
void batch_harvest(Batch *batch);
/* A device has been read since `*began_us` or longer, which is set to when that began; `member` is NULL
 * if that one was dropped. */
gboolean batch_is_slow(const Batch *batch, gint64 *began_us, gpointer *member);
/* Takes back all that was not begun. */
void batch_withdraw(Batch *batch);
/* The caller has done with a member, without a call.  TRUE: there is no member left. */
gboolean batch_drop(Batch *batch, gpointer member);
