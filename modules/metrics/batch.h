/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch: one job that reads devices, one after the other
 *
 * Waking a thread, and the loop after it, costs as much as reading a fast device, so one job reads
 * many.  Members belong to the caller, one for each device.  A member leaves the batch when its
 * reading has ended, when it is withdrawn, or when it is dropped.
 */
#pragma once

#include "device-source.h"

typedef struct Batch Batch;

typedef struct {
	/* The reading has ended.  The callee owns `sample`; NULL: the device was removed. */
	void (*read)(gpointer member, DeviceSample *sample, gint64 began_us, gint64 took_us);
	/* The reading was not started, and will not be. */
	void (*withdrawn)(gpointer member);
	/* The job has ended; the batch is freed after the call. */
	void (*ended)(Batch *batch, gpointer data);
} BatchOps;

Batch *batch_new(const BatchOps *ops, gpointer data);
void batch_add(Batch *batch, const DeviceSource *source, gpointer member);
/* Returns FALSE with an error if the job was not started; the caller frees the batch. */
gboolean batch_start(Batch *batch, RdmadModule *self, GError **error);
/* Cancels the job; `ops` are not called afterwards. */
void batch_free(Batch *batch);

/* Calls `read` for the readings that have ended, without waiting for the others. */
void batch_harvest(Batch *batch);
/* Returns whether a reading has run since `*began_us` or earlier; sets `*began_us` to its start,
 * and `*member` to its member, NULL if that was dropped. */
gboolean batch_is_slow(const Batch *batch, gint64 *began_us, gpointer *member);
/* Withdraws the members whose readings were not started. */
void batch_withdraw(Batch *batch);
/* Drops a member without a call.  Returns TRUE if no member is left. */
gboolean batch_drop(Batch *batch, gpointer member);
