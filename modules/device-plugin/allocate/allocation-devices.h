/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation devices: what stands behind the slots of an allocation. */
#pragma once

#include <rdmad/allocations.h>

#include "pool.h"

/* The devices, each once, in the order of the allocation's slots; with `expose = "pool"` the others of the
 * pool behind them; those that are gone are left out.
 * Borrowed from the pool. */
GPtrArray *allocation_devices(const Pool *pool, const RdmadAllocation *allocation);

/* Whether the resource hands out nodes of this kind. */
gboolean resource_settings_wants(const ResourceSettings *settings, RdmadChardevKind kind);
/* The first node of that kind, when the resource hands them out; or NULL. */
const char *device_node(const RdmadDevice *dev, const ResourceSettings *settings,
			RdmadChardevKind kind);
/* Paths of all nodes that the resource hands out of `devices`, each once, sorted; borrowed. */
GPtrArray *device_nodes(const GPtrArray *devices, const ResourceSettings *settings);
