/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device answer: the part of a container's answer that its devices determine
 *
 * The table keeps the answers of a resource, because the allocations of a resource have the same
 * few devices, and the device information is JSON.
 */
#pragma once

#include "deviceplugin.pb-c.h"
#include "settings.h"

/* Immutable, shared by reference. */
typedef struct {
	GPtrArray *envs;  /* of V1beta1__ContainerAllocateResponse__EnvsEntry */
	GPtrArray *files; /* of V1beta1__DeviceSpec, sorted */
	GStringChunk *texts;
} DeviceAnswer;

void device_answer_unref(const DeviceAnswer *answer);

typedef struct DeviceAnswers DeviceAnswers;

DeviceAnswers *device_answers_new(void);
void device_answers_free(DeviceAnswers *answers);
/* Must be called when a device of the resource or its settings change. */
void device_answers_clear(DeviceAnswers *answers);
/* `devices` of RdmadDevice.  Returns a reference. */
const DeviceAnswer *device_answers_get(DeviceAnswers *answers, const GPtrArray *devices,
				       const ResourceSettings *settings);
