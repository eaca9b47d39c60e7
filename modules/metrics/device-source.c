/* SPDX-License-Identifier: Apache-2.0 */
#include "device-source.h"

#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <rdmad/module.h>
#include <rdmad/work.h>

#include "names/names.h"
#include "unwrap.h"

/* Input of a job, which may outlive the source. */
typedef struct {
	RdmadCounterReader *reader;
	Unwrap *unwrap;
	const RdmadDevice *device;
	PodNames *pods; /* or NULL */
	char *pod_log_dir;
} Task;

struct DeviceSource {
	SourceContext *context;
	const RdmadDevice *device;
	RdmadReadWhat what;
	DeviceSourceFunc fn;
	gpointer data;
	RdmadCounterReader *reader;
	Unwrap *unwrap;
	RdmadJob *job; /* NULL: it is not being read */
};

/* ---- on a worker ---- */

static void task_free(gpointer data)
{
	Task *task = data;

	rdmad_counter_reader_unref(task->reader);
	unwrap_unref(task->unwrap);
	rdmad_device_unref(task->device);
	g_clear_pointer(&task->pods, pod_names_unref);
	g_free(task->pod_log_dir);
	g_free(task);
}

static void sample_free(gpointer data)
{
	device_sample_unref(data);
}

static void task_name_pods(Task *task, const RdmadReading *reading)
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

/* The values as they are to be shown. */
static void task_finish(Task *task, DeviceSample *sample)
{
	unwrap_reading(task->unwrap, sample->reading, names_counter_width, task->device->driver);
	task_name_pods(task, sample->reading);
	sample->pods = g_steal_pointer(&task->pods);
}

/* An unreadable device is a result, too; only a removed one has none. */
static gpointer task_run(gpointer input, const RdmadJob *job, GError **error)
{
	Task *task = input;
	const gint64 began_us = rdmad_now_us();
	g_autoptr(DeviceSample) sample = device_sample_new(task->device);
	g_autoptr(GError) failed = NULL;

	sample->reading = rdmad_counter_reader_read(task->reader, job, &failed);
	sample->seconds = (rdmad_now_us() - began_us) / (double)G_USEC_PER_SEC;
	if (g_error_matches(failed, RDMAD_ERROR, RDMAD_ERROR_GONE)) {
		g_propagate_error(error, g_steal_pointer(&failed));
		return NULL;
	}
	if (sample->reading)
		task_finish(task, sample);
	else
		sample->error = g_strdup(failed->message);
	return g_steal_pointer(&sample);
}

static void source_learn(DeviceSource *source, PodNames *pods)
{
	SourceContext *context = source->context;

	if (!pods || pod_names_newer(context->pods, pods) != pods)
		return;
	pod_names_ref(pods);
	g_clear_pointer(&context->pods, pod_names_unref);
	context->pods = pods;
}

static void task_done(gpointer result, const GError *error, gpointer data)
{
	DeviceSource *source = data;
	DeviceSample *sample = result;

	source->job = NULL;
	if (sample)
		source_learn(source, sample->pods);
	source->fn(source, sample, source->data);
}

static const RdmadJobClass TASK = {
	.name = "counters",
	.run = task_run,
	.done = task_done,
	.free_input = task_free,
	.free_result = sample_free,
};

/* ---- on the loop ---- */

DeviceSource *device_source_new(SourceContext *context, const RdmadDevice *device,
				DeviceSourceFunc fn, gpointer data)
{
	DeviceSource *source = g_new0(DeviceSource, 1);

	source->context = context;
	source->device = rdmad_device_ref(device);
	source->what = metrics_settings_what(context->settings);
	source->fn = fn;
	source->data = data;
	source->reader =
		rdmad_counter_reader_new(rdmad_module_sysroot(context->self), device, source->what);
	source->unwrap = unwrap_new();
	return source;
}

void device_source_free(DeviceSource *source)
{
	rdmad_job_cancel(source->job);
	rdmad_counter_reader_unref(source->reader);
	unwrap_unref(source->unwrap);
	rdmad_device_unref(source->device);
	g_free(source);
}

/* A driver that was loaded again counts from 0, and what failed before may work now. */
static RdmadCounterReader *source_renew(const DeviceSource *source, const RdmadDevice *device,
					RdmadReadWhat what)
{
	if (source->what == what && source->device->index == device->index)
		return rdmad_counter_reader_renew(source->reader, device);
	return rdmad_counter_reader_new(rdmad_module_sysroot(source->context->self), device, what);
}

static void source_begin_again(DeviceSource *source)
{
	unwrap_unref(source->unwrap);
	source->unwrap = unwrap_new();
}

static void source_change(DeviceSource *source, const RdmadDevice *device, RdmadReadWhat what)
{
	g_autoptr(RdmadCounterReader) old G_GNUC_UNUSED = source->reader;
	const RdmadDevice *before = source->device;

	if (source->device->index != device->index)
		source_begin_again(source);
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

gboolean device_source_read(DeviceSource *source, GError **error)
{
	const SourceContext *context = source->context;
	Task *task = g_new0(Task, 1);

	g_assert(!source->job);
	task->reader = rdmad_counter_reader_ref(source->reader);
	task->unwrap = unwrap_ref(source->unwrap);
	task->device = rdmad_device_ref(source->device);
	task->pods = context->pods ? pod_names_ref(context->pods) : NULL;
	task->pod_log_dir = g_strdup(context->settings->pod_log_dir);
	source->job = rdmad_work_submit(rdmad_module_workers(context->self), context->self, &TASK,
					task, 0, source, error);
	return source->job != NULL;
}

gboolean device_source_is_reading(const DeviceSource *source)
{
	return source->job != NULL;
}
