/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device source: the readings of one device, one at a time
 *
 * It keeps the reader's state across changes of the device in the inventory.  A reloaded driver,
 * and other parts to read, get a new reader.
 */
#pragma once

#include <rdmad/types.h>

#include "settings.h"
#include "snapshot.h"

typedef struct DeviceSource DeviceSource;

/* Shared by all sources. */
typedef struct {
	RdmadModule *self;
	const MetricsSettings *settings;
	RdmadFileBudget *budget; /* of files that stay open */
	PodNames *pods;		 /* the newest that any source has read, or NULL */
} SourceContext;

DeviceSource *device_source_new(SourceContext *context, const RdmadDevice *device);
void device_source_free(DeviceSource *source);

/* Updates the device, which must be the same one, and the settings for the next reading. */
void device_source_follow(DeviceSource *source, const RdmadDevice *device);
const RdmadDevice *device_source_device(const DeviceSource *source);
/* Gives a sample that is not published yet the device as it is now, and keeps its pod names for the
 * next reading of any source. */
void device_source_accept(DeviceSource *source, DeviceSample *sample);

/* One reading, which may outlive its source.  The previous one of the source must have ended. */
typedef struct DeviceTask DeviceTask;

DeviceTask *device_source_task(const DeviceSource *source);
/* Runs on a worker.  Returns NULL if the device was removed or `job` was cancelled. */
DeviceSample *device_task_run(DeviceTask *task, const RdmadJob *job);
void device_task_free(DeviceTask *task);
