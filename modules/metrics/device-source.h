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
	PodNames *pods; /* the newest that any source has read, or NULL */
} SourceContext;

/* `sample` NULL: the device has left.  Takes the sample over. */
typedef void (*DeviceSourceFunc)(DeviceSource *source, DeviceSample *sample, gpointer data);

DeviceSource *device_source_new(SourceContext *context, const RdmadDevice *device,
				DeviceSourceFunc fn, gpointer data);
/* A running reading is cancelled. */
void device_source_free(DeviceSource *source);

/* For the next reading: the same device, which may have changed, and the settings as they are now. */
void device_source_follow(DeviceSource *source, const RdmadDevice *device);
const RdmadDevice *device_source_device(const DeviceSource *source);

/* Begins a reading; FALSE with an error if it cannot.  Not while one is running. */
gboolean device_source_read(DeviceSource *source, GError **error);
gboolean device_source_is_reading(const DeviceSource *source);
