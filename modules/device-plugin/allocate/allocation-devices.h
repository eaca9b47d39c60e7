/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation devices: the devices behind the slots of an allocation. */
#pragma once

#include <rdmad/allocations.h>

#include "pool.h"

/* Returns the devices in the order of the slots, without duplicates; with `expose = "pool"` the
 * other devices of the pool follow.  Absent devices are left out.  Borrowed from the pool. */
GPtrArray *allocation_devices(const Pool *pool, const char *const *slots);

/* Returns the ids of the other devices of the pool that a container with these slots gets, at most
 * RDMAD_ALLOCATION_MAX_EXPOSED, g_strfreev(); NULL without `expose = "pool"`. */
char **allocation_exposed(const Pool *pool, const char *const *slots);

/* Returns the files of `devices` (RdmadAllocationFile, with borrowed strings) that the resource
 * includes, without rdma_cm, which is of all devices. */
GArray *allocation_files(const GPtrArray *devices, const ResourceSettings *settings);

/* Returns whether the resource includes device files of this kind. */
gboolean resource_settings_wants(const ResourceSettings *settings, RdmadChardevKind kind);
/* Returns the path of the first device file of that kind; NULL if there is none, or if the
 * resource excludes the kind. */
const char *device_node(const RdmadDevice *dev, const ResourceSettings *settings,
			RdmadChardevKind kind);
/* Returns the paths of all device files of `devices` that the resource includes, sorted, without
 * duplicates; borrowed. */
GPtrArray *device_nodes(const GPtrArray *devices, const ResourceSettings *settings);
