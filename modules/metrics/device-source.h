/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device source: the readings of one device, one at a time
 *
 * It keeps the reader, with all that this remembers, while the inventory's picture of the device
 * changes.
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

/* For the next reading: the same device, which may have changed, and the settings as they are now. */
void device_source_follow(DeviceSource *source, const RdmadDevice *device);
const RdmadDevice *device_source_device(const DeviceSource *source);
/* Keeps of a sample what helps the next reading of any source. */
void device_source_learn(DeviceSource *source, const DeviceSample *sample);

/* One reading, which may outlive its source.  Not before the last one of the source has ended. */
typedef struct DeviceTask DeviceTask;

DeviceTask *device_source_task(const DeviceSource *source);
/* On a worker.  NULL: the device has left, or `job` was cancelled. */
DeviceSample *device_task_run(DeviceTask *task, const RdmadJob *job);
void device_task_free(DeviceTask *task);
