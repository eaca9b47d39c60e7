/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the hardware through sysfs.  Blocking; runs on a worker. */
#pragma once

#include <rdmad/types.h>

typedef struct {
	GPtrArray *devices; /* RdmadDevice *, not published yet: netlink may still complete them */
	GPtrArray *gpus;    /* RdmadGpu * */
	char *netns_mode;   /* "shared", "exclusive"; NULL where nobody said */
} RdmadScan;

/* A device with missing attributes is still a device; fails only when sysfs itself cannot be read. */
RdmadScan *rdmad_scan_sysfs(const RdmadSysroot *root, GError **error);
void rdmad_scan_free(RdmadScan *scan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadScan, rdmad_scan_free)
