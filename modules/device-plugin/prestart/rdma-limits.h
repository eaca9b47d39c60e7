/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA limits: limits of a pod on a shared device, by the kernel's rdma controller
 *
 * Containers of a pod share the limit, because it is written to the pod's cgroup: open contexts of
 * a device count as hca_handle, queue pairs, completion queues, memory regions and so on as
 * hca_object.  The limit is removed with the cgroup of the pod.
 *
 * Needs cgroup2 and the controller; it is enabled in the cgroups above the pod's where necessary.
 * Kubelet makes the cgroups in kubepods.slice (systemd) or kubepods (cgroupfs), in kind below
 * kubelet.slice or kubelet.  Source: Documentation/admin-guide/cgroup-v2.rst, "RDMA".
 */
#pragma once

#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>

#include "settings.h"

/* Returns the directory of a pod's cgroup, relative to the root
 * ("sys/fs/cgroup/kubepods.slice/..."); g_free().  RDMAD_ERROR_INVALID: not a UID;
 * RDMAD_ERROR_NOT_FOUND. */
char *rdma_limits_directory(const RdmadSysroot *root, const char *pod_uid, GError **error);

/* Returns a line of rdma.max: "mlx5_0 hca_handle=10 hca_object=max". */
char *rdma_limits_line(const char *device, const RdmaLimits *limits);

/* Writes the limits of a pod on these devices (by name).  Blocks; runs on a worker.
 * RDMAD_ERROR_UNAVAILABLE: no such controller; RDMAD_ERROR_INVALID, RDMAD_ERROR_NOT_FOUND,
 * RDMAD_ERROR_FAILED. */
gboolean rdma_limits_write(const RdmadSysroot *root, const char *pod_uid, char *const *devices,
			   const RdmaLimits *limits, GError **error);

/* Returns the input of limit_job_run(), which copies everything. */
gpointer limit_job_input(RdmadModule *self, const char *pod_uid, char *const *devices,
			 const RdmaLimits *limits);
void limit_job_input_free(gpointer input);

/* For RdmadJobClass; has no result.  Errors as rdma_limits_write(). */
gpointer limit_job_run(gpointer input, const RdmadJob *job, GError **error);
