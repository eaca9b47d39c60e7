/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device information files: the devices behind kubelet's device IDs, for Multus and CNI plugins
 *
 *	<dir>/rdma-hca-0000:3b:00.0::007-device.json
 *
 * There is a file for each allocated slot whose device is a PCI function.  An empty file of the
 * same name in <run_dir>/device-info marks it as rdmad's: only marked files are removed.
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
/* Changes the directory and removes the files of the old one.  Returns FALSE if it is unchanged. */
gboolean device_info_move(DeviceInfo *info, const char *dir);

/* Returns the contents of the file for a device; NULL: there is no file, also for `dev` NULL. */
char *device_info_text(const RdmadDevice *dev);

/* Writes the file of a slot for `dev`, or removes it if the device has none.
 * RDMAD_ERROR_FAILED. */
gboolean device_info_put(DeviceInfo *info, const char *resource, const char *slot,
			 const RdmadDevice *dev, GError **error);
void device_info_remove(DeviceInfo *info, const char *resource, const char *slot);
/* Removes the marked files whose slots no allocation of `owner` has. */
void device_info_sweep(DeviceInfo *info, RdmadAllocations *allocations, const char *owner);
