/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <rdmad/clock.h>
#include <rdmad/module.h>
#include <rdmad/work.h>

/* The worker owns an item in state READING, the loop in all others. */
typedef enum { ITEM_WAITING, ITEM_READING, ITEM_READ, ITEM_WITHDRAWN } ItemState;

typedef struct {
	DeviceTask *task;
	int state; /* atomic: ItemState */
	gint64 began_us, took_us;
	DeviceSample *sample;
	gpointer member; /* of the loop; NULL: it has left the batch */
} Item;

struct Batch {
	gatomicrefcount refs; /* one of the loop, one of the job */
	GArray *items;	      /* of Item; not resized once the job runs */
	const BatchOps *ops;
	gpointer data;
	RdmadJob *job;
};

static void item_clear(gpointer data)
{
	Item *item = data;

	g_clear_pointer(&item->task, device_task_free);
	g_clear_pointer(&item->sample, device_sample_unref);
}

static void batch_unref(gpointer data)
{
	Batch *batch = data;

	if (!g_atomic_ref_count_dec(&batch->refs))
		return;
	g_array_unref(batch->items);
	g_free(batch);
}

static Item *batch_item(const Batch *batch, guint i)
{
	return &g_array_index(batch->items, Item, i);
}

Batch *batch_new(const BatchOps *ops, gpointer data)
{
	Batch *batch = g_new0(Batch, 1);

	g_atomic_ref_count_init(&batch->refs);
	batch->items = g_array_new(FALSE, TRUE, sizeof(Item));
	g_array_set_clear_func(batch->items, item_clear);
	batch->ops = ops;
	batch->data = data;
	return batch;
}

void batch_free(Batch *batch)
{
	rdmad_job_cancel(batch->job);
	batch_unref(batch);
}

void batch_add(Batch *batch, const DeviceSource *source, gpointer member)
{
	const Item item = { .task = device_source_task(source), .member = member };

	g_array_append_val(batch->items, item);
}

/* ---- on a worker ---- */

static void item_read(Item *item, const RdmadJob *job)
{
	item->began_us = rdmad_now_us();
	if (!g_atomic_int_compare_and_exchange(&item->state, ITEM_WAITING, ITEM_READING))
		return;
	item->sample = device_task_run(item->task, job);
	item->took_us = rdmad_now_us() - item->began_us;
	g_atomic_int_set(&item->state, ITEM_READ);
}

static gpointer batch_run(gpointer input, const RdmadJob *job, GError **error)
{
	Batch *batch = input;

	for (guint i = 0; i < batch->items->len && !rdmad_job_cancelled(job); i++)
		item_read(batch_item(batch, i), job);
	return NULL;
}

/* ---- on the loop ---- */

void batch_harvest(Batch *batch)
{
	for (guint i = 0; i < batch->items->len; i++) {
		Item *item = batch_item(batch, i);

		if (item->member && g_atomic_int_get(&item->state) == ITEM_READ)
			batch->ops->read(g_steal_pointer(&item->member),
					 g_steal_pointer(&item->sample), item->began_us,
					 item->took_us);
	}
}

gboolean batch_is_slow(const Batch *batch, gint64 *began_us, gpointer *member)
{
	for (guint i = 0; i < batch->items->len; i++) {
		const Item *item = batch_item(batch, i);

		if (g_atomic_int_get(&item->state) != ITEM_READING || item->began_us > *began_us)
			continue;
		*began_us = item->began_us;
		*member = item->member;
		return TRUE;
	}
	return FALSE;
}

static gboolean item_withdraw(Item *item)
{
	return g_atomic_int_compare_and_exchange(&item->state, ITEM_WAITING, ITEM_WITHDRAWN);
}

void batch_withdraw(Batch *batch)
{
	for (guint i = 0; i < batch->items->len; i++) {
		Item *item = batch_item(batch, i);

		if (item->member && item_withdraw(item))
			batch->ops->withdrawn(g_steal_pointer(&item->member));
	}
}

gboolean batch_drop(Batch *batch, gpointer member)
{
	gboolean left = FALSE;

	for (guint i = 0; i < batch->items->len; i++) {
		Item *item = batch_item(batch, i);

		if (item->member == member) {
			item->member = NULL;
			item_withdraw(item);
		}
		left = left || item->member;
	}
	return !left;
}

static void batch_done(gpointer result, const GError *error, gpointer data)
{
	Batch *batch = data;

	batch->job = NULL;
	batch_harvest(batch);
	batch->ops->ended(batch, batch->data);
	batch_unref(batch);
}

static const RdmadJobClass BATCH_JOB = {
	.name = "counters",
	.run = batch_run,
	.done = batch_done,
	.free_input = batch_unref,
};

gboolean batch_start(Batch *batch, RdmadModule *self, GError **error)
{
	g_atomic_ref_count_inc(&batch->refs);
	batch->job = rdmad_work_submit(rdmad_module_workers(self), self, &BATCH_JOB, batch, 0,
				       batch, error);
	return batch->job != NULL;
}
