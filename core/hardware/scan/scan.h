/* SPDX-License-Identifier: Apache-2.0 */
/* One scan of the hardware through sysfs.  Blocking; runs on a worker. */
#pragma once

#include <rdmad/types.h>

typedef struct {
	GPtrArray *devices; /* RdmadDevice *, not published yet: netlink may still complete them */
	GPtrArray *gpus;    /* RdmadGpu * */
	char *netns_mode;   /* "shared", "exclusive"; NULL: unknown */
	gboolean gpus_unseen; /* could not be read: the previous ones stay */
	gboolean partial;     /* of some devices: no others were read, and no GPUs */
	GHashTable *doubts;   /* name of a device -> errno, until they are settled */
	guint n_stale;	      /* devices that need another scan */
	guint n_missed;	      /* devices of a partial scan that are not where they were */
} RdmadScan;

/* One used entry of a GID table. */
typedef struct {
	guint port, index;
	gboolean v2; /* RoCE v2; else what sysfs calls "IB/RoCE v1" */
	guint8 raw[16];
} RdmadKnownGid;

/* Where GID tables come from, if not from files: sysfs has one for each entry, used or not, which are two
 * thirds of a scan. */
typedef struct {
	/* All of the device whose node is `node` ("uverbs0"), by port and index (RdmadKnownGid).
	 * NULL: to be read from files.  Any thread. */
	GArray *(*query)(const char *node, gpointer data);
	gpointer data;
} RdmadGidSource;

/* A device with missing attributes is still a device; fails only when sysfs itself cannot be read. */
RdmadScan *rdmad_scan_sysfs(const RdmadSysroot *root, GError **error);
/* The same after a scan that returned `before` (RdmadDevice, or NULL): devices that cannot be read
 * now stay.  `gids` may be NULL. */
RdmadScan *rdmad_scan_sysfs_again(const RdmadSysroot *root, const GPtrArray *before,
				  const RdmadGidSource *gids, GError **error);
/* Only `some` (RdmadDevice) are read again, and keep their ids.  One that has left, or is another by now, is not
 * in the result: only a whole scan tells what there is. */
RdmadScan *rdmad_scan_sysfs_some(const RdmadSysroot *root, const GPtrArray *some,
				 const RdmadGidSource *gids);
/* The device of that name in `devices` (NULL: none), and where it is (`index` may be NULL); NULL: there is none. */
const RdmadDevice *rdmad_scan_find(const GPtrArray *devices, const char *name, guint *index);
/* doubt.c: a device could not be read for an error that may pass ... */
void rdmad_scan_doubt(RdmadScan *scan, const char *name, int errnum);
/* ... and what becomes of those. */
void rdmad_scan_settle(RdmadScan *scan, const GPtrArray *before);
void rdmad_scan_free(RdmadScan *scan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadScan, rdmad_scan_free)
