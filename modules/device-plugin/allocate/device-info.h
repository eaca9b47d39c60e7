/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device information files: how Multus and CNI plugins learn what stands behind an id of kubelet's
 *
 *	<dir>/rdma-hca-0000:3b:00.0::007-device.json
 *
 * One for each slot that is held and whose device is a PCI function.  An empty file of the same
 * name in <run_dir>/device-info says that it is ours: only such are ever removed.
 *
 * Source: k8snetworkplumbingwg/device-info-spec 1.1.0.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

#define RDMAD_DEVICE_INFO_DIR "/var/run/k8s.cni.cncf.io/devinfo/dp"

typedef struct RdmadDeviceInfo RdmadDeviceInfo;

/* `dir` NULL or empty: no files. */
RdmadDeviceInfo *rdmad_device_info_new(const char *run_dir, const char *dir);
void rdmad_device_info_free(RdmadDeviceInfo *info);
/* Another directory; what is in the old one goes.  FALSE: it is the same one. */
gboolean rdmad_device_info_move(RdmadDeviceInfo *info, const char *dir);

/* What the file says about a device, or NULL: there is nothing to say, also for `dev` NULL. */
char *rdmad_device_info_text(const RdmadDevice *dev);

/* Makes the file for a slot tell of `dev`; removes it when there is nothing to say.
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_device_info_put(RdmadDeviceInfo *info, const char *resource, const char *slot,
			       const RdmadDevice *dev, GError **error);
void rdmad_device_info_remove(RdmadDeviceInfo *info, const char *resource, const char *slot);
/* Removes our files whose slot no allocation of `owner` holds. */
void rdmad_device_info_sweep(RdmadDeviceInfo *info, RdmadAllocations *allocations,
			     const char *owner);
