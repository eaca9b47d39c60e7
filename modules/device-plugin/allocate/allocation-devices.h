/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation devices: the devices behind the slots of an allocation. */
#pragma once

#include <rdmad/allocations.h>

#include "pool.h"

/* The devices, each once, in the order of the allocation's slots; with `expose = "pool"` the others
 * of the pool behind them; those that are gone are left out. Borrowed from the pool. */
GPtrArray *allocation_devices(const Pool *pool, const RdmadAllocation *allocation);

/* Whether the resource gives device files of this kind. */
gboolean resource_settings_wants(const ResourceSettings *settings, RdmadChardevKind kind);
/* The first file of that kind, when the resource gives them; or NULL. */
const char *device_node(const RdmadDevice *dev, const ResourceSettings *settings,
			RdmadChardevKind kind);
/* Paths of all device files that the resource gives of `devices`, each once, sorted; borrowed. */
GPtrArray *device_nodes(const GPtrArray *devices, const ResourceSettings *settings);
