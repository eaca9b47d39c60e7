/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU ids: the accelerator of a device id of another device plugin
 *
 * Plugins name their devices by UUID ("GPU-<uuid>", followed by "::3" if shared,
 * "MIG-GPU-<uuid>/1/0" for a slice), by DRM card ("card0-1") or by PCI address.  A MIG id that does
 * not contain the UUID of its GPU ("MIG-<uuid>") cannot be resolved without the driver's library
 * and is unknown here.
 *
 * The names are read by a job; until it has ended only PCI addresses are known.
 * Sources: /proc/driver/nvidia/gpus/<PCI address>/information, line "GPU UUID"; sysfs-class-drm.
 */
#pragma once

#include <rdmad/device.h>
#include <rdmad/module.h>

typedef struct GpuIds GpuIds;

GpuIds *gpu_ids_new(RdmadModule *self);
void gpu_ids_free(GpuIds *ids);
/* The hardware may have changed. */
void gpu_ids_read(GpuIds *ids);

/* NULL: not an accelerator of the inventory, as far as is known. */
const RdmadGpu *gpu_ids_find(const GpuIds *ids, const char *id);
/* Every accelerator of the inventory, and whether podresources' last list has a holder of it: an
 * array of PlacementGpu, of borrowed accelerators. */
GArray *gpu_ids_placement(const GpuIds *ids);

/* ---- the parts without a module, for tests ---- */

/* "GPU-<uuid>" of a file `information`, or NULL. */
char *gpu_ids_uuid(const char *information);
/* The PCI address that `id` means, "0000:1b:00.0", by itself or by `names` (name -> address);
 * NULL: none. */
char *gpu_ids_address(GHashTable *names, const char *id);
