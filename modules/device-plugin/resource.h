/* SPDX-License-Identifier: Apache-2.0 */
/* Resource: one name at kubelet, that is a pool and its registration. */
#pragma once

#include <rdmad/module.h>

#include "allocate/delivery.h"
#include "allocate/wait.h"
#include "kubelet/kubelet.h"
#include "pool.h"
#include "prestart/gpu-ids.h"
#include "prestart/prestart.h"

typedef struct RdmadResource RdmadResource;

/* What all resources use; outlives them. */
typedef struct {
	RdmadModule *self;
	RdmadKubelet *kubelet;
	RdmadDelivery *delivery;
	RdmadGpuIds *gpu_ids;
	RdmadPreStart *pre_start;
	RdmadAllocateWait *allocate_wait;
	RdmadStat *allocate_durations;
} RdmadResourceShared;

RdmadResource *rdmad_resource_new(const RdmadResourceShared *shared,
				  RdmadResourceSettings *settings);
void rdmad_resource_free(RdmadResource *resource);

const char *rdmad_resource_name(const RdmadResource *resource);
void rdmad_resource_configure(RdmadResource *resource, RdmadResourceSettings *settings);

/* Takes in its devices and its allocations, and tells kubelet what changed.  `plugin` has the delays.
 * Returns as rdmad_pool_update(). */
gint64 rdmad_resource_update(RdmadResource *resource, const GArray *members,
			     const RdmadPluginSettings *plugin);
/* Whether an update is needed for this allocation: the list is not what the allocation says. */
gboolean rdmad_resource_lacks(const RdmadResource *resource, const RdmadAllocation *allocation);
/* Something happened in kubelet's directories; the first look begins to register. */
void rdmad_resource_look(RdmadResource *resource);
/* Registers again when kubelet has to make other calls than before. */
void rdmad_resource_follow_options(RdmadResource *resource);
void rdmad_resource_restart(RdmadResource *resource);
void rdmad_resource_drain(RdmadResource *resource, void (*drained)(gpointer data), gpointer data);

/* A new reference. */
struct json_t *rdmad_resource_status(const RdmadResource *resource);
typedef struct {
	guint slots, unhealthy, allocated, allocations;
	guint registered; /* 0 or 1 */
} RdmadResourceCounts;
void rdmad_resource_count(const RdmadResource *resource, RdmadResourceCounts *counts);

/* NULL: kubelet watches it; else a line for people (g_free()). */
char *rdmad_resource_trouble(const RdmadResource *resource);
void rdmad_resource_doctor(const RdmadResource *resource, struct json_t *findings);
