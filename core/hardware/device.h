/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of devices, which are immutable once in the inventory */
#pragma once

#include <rdmad/device.h>

typedef const RdmadDevice RdmadDeviceRef;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDeviceRef, rdmad_device_unref)

void rdmad_device_add_problem(RdmadDevice *dev, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Returns NULL if there is no such port. */
const RdmadPort *rdmad_device_port(const RdmadDevice *dev, guint number);
void rdmad_port_clear_gids(RdmadPort *port);
/* Sets a name, which may be invalid UTF-8, and nothing else: numbers are RDMAD_UNKNOWN. */
void rdmad_netdev_init(RdmadNetdev *netdev, const char *name);
/* Returns whether both tables have the same GIDs and types at the same indices. */
gboolean rdmad_port_gids_equal(const RdmadPort *a, const RdmadPort *b);
/* Returns whether both devices have the same character devices. */
gboolean rdmad_device_chardevs_equal(const RdmadDevice *a, const RdmadDevice *b);

/* Returns whether both devices look the same to a watcher. */
gboolean rdmad_device_equal(const RdmadDevice *a, const RdmadDevice *b);

void rdmad_gpu_free(RdmadGpu *gpu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGpu, rdmad_gpu_free)

/* rdmad_natural_compare() of the entries of an array of char *. */
int rdmad_natural_compare_entries(gconstpointer a, gconstpointer b);
