/* SPDX-License-Identifier: Apache-2.0 */
#include "device-source.h"

#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <rdmad/module.h>

#include "names/names.h"
#include "unwrap.h"

struct DeviceTask {
	RdmadCounterReader *reader;
	Unwrap *unwrap;
	const RdmadDevice *device;
	PodNames *pods; /* or NULL */
	char *pod_log_dir;
};

struct DeviceSource {
	SourceContext *context;
	const RdmadDevice *device;
	RdmadReadWhat what;
	RdmadCounterReader *reader;
	Unwrap *unwrap;
};

/* ---- on a worker ---- */

void device_task_free(DeviceTask *task)
{
	rdmad_counter_reader_unref(task->reader);
	unwrap_unref(task->unwrap);
	rdmad_device_unref(task->device);
	g_clear_pointer(&task->pods, pod_names_unref);
	g_free(task->pod_log_dir);
	g_free(task);
}

static void task_name_pods(DeviceTask *task, const RdmadReading *reading)
{
	for (guint i = 0; task->pod_log_dir[0] && i < reading->n_users; i++) {
		const char *uid = reading->users[i].pod_uid;
		PodNames *pods;

		if (!uid)
			continue;
		pods = pod_names_follow(task->pods, task->pod_log_dir, uid, reading->time_us);
		g_clear_pointer(&task->pods, pod_names_unref);
		task->pods = pods;
	}
}

/* Converts the values to the form in which they are exposed. */
static void task_finish(DeviceTask *task, DeviceSample *sample)
{
	unwrap_reading(task->unwrap, sample->reading, names_counter_width, task->device->driver);
	task_name_pods(task, sample->reading);
	sample->pods = g_steal_pointer(&task->pods);
}

/* An unreadable device yields a sample with an error; only a removed one yields none. */
DeviceSample *device_task_run(DeviceTask *task, const RdmadJob *job)
{
	const gint64 began_us = rdmad_now_us();
	g_autoptr(DeviceSample) sample = device_sample_new(task->device);
	g_autoptr(GError) failed = NULL;

	sample->reading = rdmad_counter_reader_read(task->reader, job, &failed);
	sample->seconds = (rdmad_now_us() - began_us) / (double)G_USEC_PER_SEC;
	if (sample->reading)
		task_finish(task, sample);
	else if (g_error_matches(failed, RDMAD_ERROR, RDMAD_ERROR_GONE) ||
		 g_error_matches(failed, RDMAD_ERROR, RDMAD_ERROR_CANCELLED))
		return NULL;
	else
		sample->error = g_strdup(failed->message);
	return g_steal_pointer(&sample);
}

/* ---- on the loop ---- */

static RdmadCounterReader *reader_new(const SourceContext *context, const RdmadDevice *device,
				      RdmadReadWhat what)
{
	RdmadCounterReader *reader =
		rdmad_counter_reader_new(rdmad_module_sysroot(context->self), device, what);

	rdmad_counter_reader_set_budget(reader, context->budget);
	return reader;
}

DeviceSource *device_source_new(SourceContext *context, const RdmadDevice *device)
{
	DeviceSource *source = g_new0(DeviceSource, 1);

	source->context = context;
	source->device = rdmad_device_ref(device);
	source->what = metrics_settings_what(context->settings);
	source->reader = reader_new(context, device, source->what);
	source->unwrap = unwrap_new();
	return source;
}

void device_source_free(DeviceSource *source)
{
	rdmad_counter_reader_unref(source->reader);
	unwrap_unref(source->unwrap);
	rdmad_device_unref(source->device);
	g_free(source);
}

/* A reloaded driver counts from 0, and files that failed before may be readable. */
static RdmadCounterReader *source_renew(const DeviceSource *source, const RdmadDevice *device,
					RdmadReadWhat what)
{
	if (source->what == what && source->device->index == device->index)
		return rdmad_counter_reader_renew(source->reader, device);
	return reader_new(source->context, device, what);
}

static void source_reset_unwrap(DeviceSource *source)
{
	unwrap_unref(source->unwrap);
	source->unwrap = unwrap_new();
}

static void source_change(DeviceSource *source, const RdmadDevice *device, RdmadReadWhat what)
{
	g_autoptr(RdmadCounterReader) old G_GNUC_UNUSED = source->reader;
	const RdmadDevice *before = source->device;

	if (source->device->index != device->index)
		source_reset_unwrap(source);
	source->reader = source_renew(source, device, what);
	source->device = rdmad_device_ref(device);
	source->what = what;
	rdmad_device_unref(before);
}

void device_source_follow(DeviceSource *source, const RdmadDevice *device)
{
	const RdmadReadWhat what = metrics_settings_what(source->context->settings);

	if (source->device != device || source->what != what)
		source_change(source, device, what);
}

const RdmadDevice *device_source_device(const DeviceSource *source)
{
	return source->device;
}

/* A reading may have lasted for hours, and what the inventory knew at its start was exposed
 * since. */
static void source_update_sample(const DeviceSource *source, DeviceSample *sample)
{
	if (sample->device->index != source->device->index)
		return;
	rdmad_device_unref(sample->device);
	sample->device = rdmad_device_ref(source->device);
}

void device_source_accept(DeviceSource *source, DeviceSample *sample)
{
	SourceContext *context = source->context;
	PodNames *pods = sample->pods;

	source_update_sample(source, sample);
	if (!pods || pod_names_newer(context->pods, pods) != pods)
		return;
	pod_names_ref(pods);
	g_clear_pointer(&context->pods, pod_names_unref);
	context->pods = pods;
}

DeviceTask *device_source_task(const DeviceSource *source)
{
	const SourceContext *context = source->context;
	DeviceTask *task = g_new0(DeviceTask, 1);

	task->reader = rdmad_counter_reader_ref(source->reader);
	task->unwrap = unwrap_ref(source->unwrap);
	task->device = rdmad_device_ref(source->device);
	task->pods = pod_names_ref(context->pods);
	task->pod_log_dir = g_strdup(context->settings->pod_log_dir);
	return task;
}
