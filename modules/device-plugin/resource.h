/* SPDX-License-Identifier: Apache-2.0 */
/* Resource: one name at kubelet, that is a pool and its registration. */
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

/* Updates its devices and its allocations, and sends kubelet a changed list.  `plugin` has the
 * delays. Returns as pool_update(). */
gint64 resource_update(Resource *resource, const GArray *members, const PluginSettings *plugin);
/* Whether an update is needed for this allocation: it differs from the list. */
gboolean resource_lacks(const Resource *resource, const RdmadAllocation *allocation);
/* Kubelet's directories have changed; the first call begins to register. */
void resource_look(Resource *resource);
/* Registers again when kubelet has to make other calls than before. */
void resource_follow_options(Resource *resource);
void resource_restart(Resource *resource);
void resource_drain(Resource *resource, void (*drained)(gpointer data), gpointer data);

/* AllocateDoneFunc of the queue, with the resource as data. */
void resource_answer(RdmadGrpcCall *call, GBytes *answer, const GError *refusal, gint64 arrived_us,
		     gpointer resource);

/* A new reference. */
struct json_t *resource_status(const Resource *resource);
typedef struct {
	guint slots, unhealthy, allocated, allocations;
	guint registered; /* 0 or 1 */
} ResourceCounts;
void resource_count(const Resource *resource, ResourceCounts *counts);

/* NULL: kubelet watches it; else a line for people (g_free()). */
char *resource_trouble(const Resource *resource);
/* FALSE: the resource does not have the device; `problem` as Health. */
gboolean resource_device_health(const Resource *resource, const char *id, const char **problem);
void resource_doctor(const Resource *resource, struct json_t *findings);
