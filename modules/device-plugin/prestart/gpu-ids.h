/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU IDs: the accelerators behind the device IDs of other device plugins
 *
 * Plugins name their devices by UUID ("GPU-<uuid>", followed by "::3" if shared,
 * "MIG-GPU-<uuid>/1/0" for a slice), by DRM card ("card0-1") or by PCI address.  A MIG ID that does
 * not contain the UUID of its GPU ("MIG-<uuid>") cannot be resolved without the driver's library
 * and is unknown here.
 *
 * A job reads the names; until it has ended, only PCI addresses are resolved.
 * Sources: /proc/driver/nvidia/gpus/<PCI address>/information, line "GPU UUID"; sysfs-class-drm.
 */
#pragma once

#include <rdmad/device.h>
#include <rdmad/module.h>

typedef struct GpuIds GpuIds;

GpuIds *gpu_ids_new(RdmadModule *self);
void gpu_ids_free(GpuIds *ids);
/* Reads the names again, because the hardware may have changed. */
void gpu_ids_read(GpuIds *ids);

/* Returns the accelerator of an ID; NULL: not known to be one of the inventory. */
const RdmadGpu *gpu_ids_find(const GpuIds *ids, const char *id);
/* Returns an array of PlacementGpu: each accelerator of the inventory, borrowed, and whether a pod
 * in podresources' last list holds it. */
GArray *gpu_ids_placement(const GpuIds *ids);

/* ---- the parts without a module, for tests ---- */

/* Returns "GPU-<uuid>" from the contents of a file `information`, or NULL. */
char *gpu_ids_uuid(const char *information);
/* Returns the PCI address of `id`, "0000:1b:00.0", from the ID itself or from `names` (name ->
 * address); NULL: unknown. */
char *gpu_ids_address(GHashTable *names, const char *id);
