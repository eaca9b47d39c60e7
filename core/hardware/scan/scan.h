/* SPDX-License-Identifier: Apache-2.0 */
/* One scan of the hardware through sysfs.  Blocks; runs on a worker. */
#pragma once

#include <rdmad/types.h>

typedef struct {
	GPtrArray *devices;   /* RdmadDevice *, not published yet: netlink completes them */
	GPtrArray *gpus;      /* RdmadGpu * */
	char *netns_mode;     /* "shared", "exclusive"; NULL: unknown */
	gboolean gpus_unseen; /* unreadable: the previous GPUs are kept */
	gboolean partial;     /* only some devices, and no GPUs, were read */
	GHashTable *doubts;   /* name of a device -> errno, until rdmad_scan_settle() */
	guint n_stale;	      /* devices that need another scan */
	guint n_missed;	      /* devices of a partial scan that are no longer in their place */
} RdmadScan;

/* One used entry of a GID table. */
typedef struct {
	guint port, index;
	gboolean v2; /* RoCE v2; else "IB/RoCE v1" in sysfs */
	guint8 raw[16];
} RdmadKnownGid;

/* A source of GID tables other than sysfs, where each entry, used or not, is a file: reading
 * them takes two thirds of a scan. */
typedef struct {
	/* Returns all GIDs (RdmadKnownGid) of the device with the uverbs file `node`
	 * ("uverbs0"), by port and index.  NULL: read files.  Called on any thread. */
	GArray *(*query)(const char *node, gpointer data);
	gpointer data;
} RdmadGidSource;

/* Devices may have missing attributes.  Fails only if sysfs cannot be read. */
RdmadScan *rdmad_scan_sysfs(const RdmadSysroot *root, GError **error);
/* The same after a scan that returned `before` (RdmadDevice, or NULL): keeps devices that are
 * temporarily unreadable.  `gids` may be NULL. */
RdmadScan *rdmad_scan_sysfs_again(const RdmadSysroot *root, const GPtrArray *before,
				  const RdmadGidSource *gids, GError **error);
/* Reads only the devices `some` (RdmadDevice), which keep their ids.  The result omits devices
 * that were removed or replaced: only a full scan can handle these. */
RdmadScan *rdmad_scan_sysfs_some(const RdmadSysroot *root, const GPtrArray *some,
				 const RdmadGidSource *gids);
/* Returns the device with this name in `devices` (may be NULL) and its `index` (may be NULL), or
 * NULL. */
const RdmadDevice *rdmad_scan_find(const GPtrArray *devices, const char *name, guint *index);
/* doubt.c: records that a device could not be read because of a temporary error. */
void rdmad_scan_doubt(RdmadScan *scan, const char *name, int errnum);
/* doubt.c: decides which devices in doubt are kept. */
void rdmad_scan_settle(RdmadScan *scan, const GPtrArray *before);
/* Fills what the PCI function tells of a device in another namespace, whose `pci_address` and
 * `aux_name` are set.  Returns FALSE if there is no such function. */
gboolean rdmad_scan_function(const RdmadSysroot *root, RdmadDevice *device);
void rdmad_scan_free(RdmadScan *scan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadScan, rdmad_scan_free)
