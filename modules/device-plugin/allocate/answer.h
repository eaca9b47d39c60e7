/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container answer: the response to kubelet for one container and its allocation
 *
 * - the device files of the devices behind its slots, and rdma_cm; with `cdi = "on"` by their names
 *   for the runtime, where these could be published: never both for one container
 * - RDMAD_ALLOCATION, the id of the allocation
 * - the allocation's directory at /run/rdmad, read-only, and NCCL_CONF_FILE that points into it
 * - PCIDEVICE_<RESOURCE> and PCIDEVICE_<RESOURCE>_INFO
 *
 * Kubelet keeps the answer and uses it at every restart of the container, also after its own: the
 * same allocation gives the same answer.
 */
#pragma once

#include <rdmad/allocations.h>

#include "allocate/cdi.h"
#include "deviceplugin.pb-c.h"
#include "pool.h"

typedef struct ContainerAnswer ContainerAnswer;

/* `cdi` may be NULL.  Lives no longer than until the next update of `pool`. */
ContainerAnswer *container_answer_new(const Pool *pool, const RdmadAllocation *allocation,
				      const char *run_dir, const Cdi *cdi);
void container_answer_free(ContainerAnswer *answer);
/* Borrowed. */
V1beta1__ContainerAllocateResponse *container_answer_message(const ContainerAnswer *answer);
