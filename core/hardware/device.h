/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of devices; once in the inventory, a device never changes. */
#pragma once

#include <rdmad/device.h>

/* One reference; every string NULL, every number RDMAD_UNKNOWN, every list empty. */
RdmadDevice *rdmad_device_new(const char *id, const char *name);
typedef const RdmadDevice RdmadDeviceRef;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDeviceRef, rdmad_device_unref)

void rdmad_device_add_problem(RdmadDevice *dev, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A device of the caller's own with the same content. */
RdmadDevice *rdmad_device_copy(const RdmadDevice *dev);

/* NULL: there is no such port. */
const RdmadPort *rdmad_device_port(const RdmadDevice *dev, guint number);
/* The same addresses in the same places. */
gboolean rdmad_port_gids_equal(const RdmadPort *a, const RdmadPort *b);

/* The same in all that a watcher could see. */
gboolean rdmad_device_equal(const RdmadDevice *a, const RdmadDevice *b);

void rdmad_gpu_free(RdmadGpu *gpu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGpu, rdmad_gpu_free)

/* rdmad_natural_compare() of the entries of an array of char *. */
int rdmad_natural_compare_entries(gconstpointer a, gconstpointer b);
