/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device information files: for Multus and CNI plugins, the device behind an id of kubelet's
 *
 *	<dir>/rdma-hca-0000:3b:00.0::007-device.json
 *
 * One for each slot that is held and whose device is a PCI function.  An empty file of the same
 * name in <run_dir>/device-info marks it as ours: only such are ever removed.
 *
 * Source: k8snetworkplumbingwg/device-info-spec 1.1.0.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

#define DEVICE_INFO_DIR "/var/run/k8s.cni.cncf.io/devinfo/dp"

typedef struct DeviceInfo DeviceInfo;

/* `dir` NULL or empty: no files. */
DeviceInfo *device_info_new(const char *run_dir, const char *dir);
void device_info_free(DeviceInfo *info);
/* Moves to another directory and removes the files of the old one.  FALSE: it is the same one. */
gboolean device_info_move(DeviceInfo *info, const char *dir);

/* Contents of the file for a device, or NULL: none, also for `dev` NULL. */
char *device_info_text(const RdmadDevice *dev);

/* Writes the file of a slot for `dev`; removes it if it would have no contents.
 * RDMAD_ERROR_FAILED. */
gboolean device_info_put(DeviceInfo *info, const char *resource, const char *slot,
			 const RdmadDevice *dev, GError **error);
void device_info_remove(DeviceInfo *info, const char *resource, const char *slot);
/* Removes our files whose slot no allocation of `owner` holds. */
void device_info_sweep(DeviceInfo *info, RdmadAllocations *allocations, const char *owner);
