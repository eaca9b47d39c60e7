/* SPDX-License-Identifier: Apache-2.0 */
/* Resource: a resource of kubelet, with its pool and its registration. */
#pragma once

#include <rdmad/module.h>

#include "allocate/delivery.h"
#include "allocate/queue.h"
#include "kubelet/kubelet.h"
#include "pool.h"
#include "prestart/gpu-ids.h"
#include "prestart/prestart.h"

typedef struct Resource Resource;

/* Shared by all resources; outlives them. */
typedef struct {
	RdmadModule *self;
	Kubelet *kubelet;
	Delivery *delivery;
	GpuIds *gpu_ids;
	PreStart *pre_start;
	AllocateQueue *allocate_queue;
	RdmadStat *allocate_durations;
} ResourceShared;

Resource *resource_new(const ResourceShared *shared, ResourceSettings *settings);
void resource_free(Resource *resource);

const char *resource_name(const Resource *resource);
void resource_configure(Resource *resource, ResourceSettings *settings);

/* Updates the devices and the allocations, and sends kubelet the list if it changed.  `plugin` has
 * the delays.  Returns as pool_update(). */
gint64 resource_update(Resource *resource, GArray *members, const PluginSettings *plugin);
/* Returns whether an update is needed for this allocation: the list lacks one of its slots, or it
 * changes who excludes others from a device. */
gboolean resource_is_outdated_by(const Resource *resource, const RdmadAllocation *allocation);
/* Handles a change in kubelet's directories; the first call starts the registration. */
void resource_kubelet_changed(Resource *resource);
/* Registers again if the optional calls that kubelet must make have changed. */
void resource_follow_options(Resource *resource);
void resource_restart(Resource *resource);
void resource_drain(Resource *resource, void (*drained)(gpointer data), gpointer data);

/* AllocateDoneFunc of the queue, with the resource as data. */
void resource_answer(RdmadGrpcCall *call, GBytes *answer, const GError *refusal, gint64 arrived_us,
		     gpointer resource);

/* Returns a new reference. */
struct json_t *resource_status(const Resource *resource);
typedef struct {
	guint slots, unhealthy, allocated, allocations;
	guint registered; /* 0 or 1 */
} ResourceCounts;
void resource_count(const Resource *resource, ResourceCounts *counts);

/* Returns the reason why kubelet does not watch the resource, for people (g_free()); NULL: it
 * does. */
char *resource_problem(const Resource *resource);
/* Returns FALSE if the resource does not have the device; `problem` as pool_device_problem(),
 * `rest` NULL with it. */
gboolean resource_device_health(const Resource *resource, const char *id, const char **problem,
				const char **rest);
void resource_doctor(const Resource *resource, struct json_t *findings);
