/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container answer: the response to kubelet for one container and its allocation
 *
 * - the device files of the devices behind the slots, and rdma_cm; or, with `cdi = "on"` and a
 *   published specification, their CDI names: never both for one container
 * - RDMAD_ALLOCATION, the id of the allocation
 * - the allocation's directory at /run/rdmad, read-only, and NCCL_CONF_FILE, a path in it
 * - PCIDEVICE_<RESOURCE> and PCIDEVICE_<RESOURCE>_INFO
 *
 * Kubelet stores the response and reuses it at each restart of the container, even after a
 * restart of kubelet: the same allocation must give the same response.
 */
#pragma once

#include <rdmad/allocations.h>

#include "allocate/cdi.h"
#include "deviceplugin.pb-c.h"
#include "pool.h"

typedef struct ContainerAnswer ContainerAnswer;

/* Returns the CDI names that a container gets instead of the files of `devices`, or NULL: it gets
 * the files.  `cdi` may be NULL. */
GPtrArray *container_cdi_names(const Cdi *cdi, const GPtrArray *devices,
			       const ResourceSettings *settings);

/* `cdi` may be NULL.  The result is valid while `allocation` is. */
ContainerAnswer *container_answer_new(const Pool *pool, const RdmadAllocation *allocation,
				      const char *run_dir, const Cdi *cdi);
void container_answer_free(ContainerAnswer *answer);
/* Borrowed. */
V1beta1__ContainerAllocateResponse *container_answer_message(const ContainerAnswer *answer);
