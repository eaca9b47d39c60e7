/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

DeviceSample *device_sample_new(const RdmadDevice *device)
{
	DeviceSample *sample = g_new0(DeviceSample, 1);

	sample->refs = 1;
	sample->device = rdmad_device_ref(device);
	return sample;
}

DeviceSample *device_sample_ref(DeviceSample *sample)
{
	g_atomic_int_inc(&sample->refs);
	return sample;
}

void device_sample_unref(DeviceSample *sample)
{
	if (!g_atomic_int_dec_and_test(&sample->refs))
		return;
	g_clear_pointer(&sample->reading, rdmad_reading_free);
	rdmad_device_unref(sample->device);
	g_clear_pointer(&sample->pods, pod_names_unref);
	g_free(sample->error);
	g_free(sample);
}

Snapshot *snapshot_new(void)
{
	Snapshot *snapshot = g_new0(Snapshot, 1);

	snapshot->refs = 1;
	snapshot->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_sample_unref);
	return snapshot;
}

Snapshot *snapshot_ref(Snapshot *snapshot)
{
	g_atomic_int_inc(&snapshot->refs);
	return snapshot;
}

/* The reason why there is no reading is not in the text. */
static gboolean sample_is_like(const DeviceSample *a, const DeviceSample *b)
{
	return a == b ||
	       (!a->reading && !b->reading && a->device == b->device && a->seconds == b->seconds);
}

gboolean snapshot_is_like(const Snapshot *a, const Snapshot *b)
{
	if (a == b)
		return TRUE;
	if (a->names != b->names || a->what != b->what || a->gids != b->gids ||
	    a->devices->len != b->devices->len)
		return FALSE;
	for (guint i = 0; i < a->devices->len; i++)
		if (!sample_is_like(a->devices->pdata[i], b->devices->pdata[i]))
			return FALSE;
	return TRUE;
}

void snapshot_unref(Snapshot *snapshot)
{
	if (!g_atomic_int_dec_and_test(&snapshot->refs))
		return;
	g_ptr_array_unref(snapshot->devices);
	g_free(snapshot);
}
