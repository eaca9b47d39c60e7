/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre-start: the work at the start of a container (PreStartContainer)
 *
 * Kubelet calls it after admission and after the setup of the pod's network, when all devices of
 * the container are allocated, including those of other plugins, and again at every restart of
 * the container.
 *
 * 1. podresources returns its pod, its container and its accelerators;
 * 2. with `host_network_only` or `rdma_limits`, or if a preparer needs it, the container runtime is
 *    queried for the pod;
 * 3. the limits are written to the pod's cgroup;
 * 4. other modules finish what they have to write for the container (rdmad/preparations.h);
 * 5. with `prestart` the allocation's nccl.conf gets the NIC list in the order of nic-order.h,
 *    unless module nccl has put its plan there.
 *
 * A start is refused only by `host_network_only`, if the runtime reports that the pod is not in
 * the host's network, and by a preparer.  If another step fails or times out, an event is logged
 * and the container starts.
 */
#pragma once

#include <jansson.h>
#include <rdmad/grpc.h>

#include "prestart/gpu-ids.h"
#include "allocate/delivery.h"
#include "settings.h"

typedef struct PreStart PreStart;

PreStart *pre_start_new(RdmadModule *self, const PluginSettings *settings);
void pre_start_free(PreStart *pre_start);
void pre_start_configure(PreStart *pre_start, const PluginSettings *settings);
/* Run at start and stop of the module; pre_start_stop() replies to pending calls. */
void pre_start_begin(PreStart *pre_start, const GpuIds *gpu_ids, const Delivery *delivery);
void pre_start_stop(PreStart *pre_start);

/* Adds a finding if the resource has options for which there is no container runtime. */
void pre_start_doctor(const PreStart *pre_start, const ResourceSettings *resource,
		      json_t *findings);
/* Returns whether kubelet must call PreStartContainer. */
gboolean pre_start_wanted(const PreStart *pre_start, const ResourceSettings *resource);
/* Handles a PreStartContainerRequest; replies now or within nine seconds. */
void pre_start_serve(PreStart *pre_start, ResourceSettings *resource, RdmadGrpcCall *call,
		     const guint8 *message, gsize size);
