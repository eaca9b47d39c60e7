/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA limits: limits of a pod on a shared device, by the kernel's rdma controller
 *
 * Containers of a pod share the limit, because it is written to the pod's cgroup: open contexts of
 * a device count as hca_handle, queue pairs, completion queues, memory regions and so on as
 * hca_object.  The limit is removed with the cgroup of the pod.
 *
 * Needs the controller, of cgroup v2 or v1.  That of v2 is enabled in the cgroups above the pod's
 * where necessary.  Sources: Documentation/admin-guide/cgroup-v2.rst, "RDMA", and
 * cgroup-v1/rdma.rst.
 */
#pragma once

#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>

#include "settings.h"

/* Returns a line of rdma.max: "mlx5_0 hca_handle=10 hca_object=max". */
char *rdma_limits_line(const char *device, const RdmaLimits *limits);

/* Writes the limits of a pod on these devices (by name).  Blocks; runs on a worker.
 * Errors as rdmad_cgroup_pod_find(), and RDMAD_ERROR_FAILED. */
gboolean rdma_limits_write(const RdmadSysroot *root, const char *pod_uid, char *const *devices,
			   const RdmaLimits *limits, GError **error);

/* Returns the input of limit_job_run(), which copies everything. */
gpointer limit_job_input(RdmadModule *self, const char *pod_uid, char *const *devices,
			 const RdmaLimits *limits);
void limit_job_input_free(gpointer input);

/* For RdmadJobClass; has no result.  Errors as rdma_limits_write(). */
gpointer limit_job_run(gpointer input, const RdmadJob *job, GError **error);
