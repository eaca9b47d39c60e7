/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre-start: what is done when kubelet starts a container (PreStartContainer)
 *
 * It comes after admission and after the pod's network, when kubelet knows all devices of the
 * container, those of other plugins too, and again at every restart of the container.
 *
 * 1. podresources says which pod and container it is, and which accelerators it has;
 * 2. with `prestart` the allocation's nccl.conf gets the NIC list in the order of nic-order.h, unless
 *    module nccl has put its plan there;
 * 3. with `host_network_only` or `rdma_limits` the container runtime is asked about the pod;
 * 4. the limits are written to the pod's cgroup.
 *
 * `host_network_only` alone ever refuses, and only when the runtime says that the pod is not in the
 * host's network.  Whatever cannot be learnt or done in time is an entry in the event log, and the
 * container starts.
 */
#pragma once

#include <rdmad/grpc.h>

#include "prestart/gpu-ids.h"
#include "allocate/delivery.h"
#include "settings.h"

typedef struct RdmadPreStart RdmadPreStart;

RdmadPreStart *rdmad_pre_start_new(RdmadModule *self, const RdmadPluginSettings *settings);
void rdmad_pre_start_free(RdmadPreStart *pre_start);
void rdmad_pre_start_configure(RdmadPreStart *pre_start, const RdmadPluginSettings *settings);
/* From start to stop of the module; calls that are open at stop are answered. */
void rdmad_pre_start_begin(RdmadPreStart *pre_start, const RdmadGpuIds *gpu_ids,
			   const RdmadDelivery *delivery);
void rdmad_pre_start_stop(RdmadPreStart *pre_start);

/* Whether kubelet shall call. */
gboolean rdmad_pre_start_wanted(const RdmadPreStart *pre_start,
				const RdmadResourceSettings *resource);
/* A PreStartContainerRequest; answers the call now or within ten seconds. */
void rdmad_pre_start_serve(RdmadPreStart *pre_start, RdmadResourceSettings *resource,
			   RdmadGrpcCall *call, const guint8 *message, gsize size);
