/* SPDX-License-Identifier: Apache-2.0 */
/* The view of a container, from the inventory and what its allocations say of its network. */
#pragma once

#include "network.h"
#include "view.h"

/*
 * `allocations`: RdmadAllocation.  Addresses come from the attachments and from the pod's `network` (may be
 * NULL: not read).  Without either, the container is in the host's namespace (`host_network`), or its network
 * is still to come: the addresses are known to be none.
 * A device that was moved into the container is no longer in the inventory: it is seen as its attachment
 * says.
 */
NcclView *nccl_view_of_allocations(const GPtrArray *allocations, RdmadInventory *inventory,
				   gboolean host_network, const NcclNetwork *network);
/* The whole node, in the host's namespace. */
NcclView *nccl_view_of_node(RdmadInventory *inventory);
