/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a container, from the inventory and its allocations. */
#pragma once

#include "network.h"
#include "view.h"

/*
 * `allocations`: of RdmadAllocation, from `table` (NULL: all ports of their devices were
 * allocated).  The addresses come from the attachments and from the pod's `network` (may be NULL:
 * not read).  With neither, the container has the host's addresses (`host_network`), or none yet,
 * because its network is not up. A device that was moved into the container is described by
 * its attachment and by its last snapshot on the host.
 */
NcclView *nccl_view_of_allocations(const GPtrArray *allocations, RdmadAllocations *table,
				   RdmadInventory *inventory, gboolean host_network,
				   const NcclNetwork *network);
/* Returns the view of the whole node, in the host's namespace. */
NcclView *nccl_view_of_node(RdmadInventory *inventory);
