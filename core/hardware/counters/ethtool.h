/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of an interface's driver (`ethtool -S`), and the selection of the relevant ones
 *
 * A driver may have thousands of statistics, a dozen for each queue.  RDMA needs flow control (PFC,
 * pause), discards, congestion marks, and errors of the link and of PCIe.  Their names differ by
 * driver.
 *
 * Netlink does not have them.  Three ioctls return the number, the names and the values; the driver
 * may change the number in between.  They need no capability.  Source: net/ethtool/ioctl.c.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ETHTOOL_NAME_SIZE 32u /* ETH_GSTRING_LEN */
/* A larger number is rejected as invalid.  mlx5 has about ninety for each of up to 256 channels,
 * and those of transmission for each of up to eight traffic classes. */
#define RDMAD_ETHTOOL_NAMES_MAX 131072u

typedef struct {
	guint place; /* index in the table */
	char name[RDMAD_ETHTOOL_NAME_SIZE + 1];
} RdmadEthtoolName;

typedef gboolean (*RdmadEthtoolMatters)(const char *name);

gboolean rdmad_ethtool_name_matters(const char *name);
/* For tests: returns name `i` of the selection, with "#" for a digit; NULL after the last one. */
const char *rdmad_ethtool_name_pattern(guint i);
/* `table` has `n` names of RDMAD_ETHTOOL_NAME_SIZE bytes, possibly without a NUL.  Returns an
 * array of RdmadEthtoolName in the order of the table. */
GArray *rdmad_ethtool_names_choose(const char *table, guint n, RdmadEthtoolMatters matters);
/* Returns whether all chosen names still have their index. */
gboolean rdmad_ethtool_names_hold(const GArray *chosen, const char *table, guint n);

/* The statistics of one interface; caches the selection of names. */
typedef struct RdmadEthtoolStats RdmadEthtoolStats;
typedef void (*RdmadEthtoolStat)(const char *name, guint64 value, gpointer data);

/* `netdev` is a valid interface name (rdmad_sysfs_is_netdev_name()). */
RdmadEthtoolStats *rdmad_ethtool_stats_new(const char *netdev, RdmadEthtoolMatters matters);
void rdmad_ethtool_stats_free(RdmadEthtoolStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadEthtoolStats, rdmad_ethtool_stats_free)

/*
 * Calls `fn` for each selected statistic, in the driver's order.  Returns 0 or an errno:
 * EOPNOTSUPP: the driver has none; ENODEV: no such interface; E2BIG: more than
 * RDMAD_ETHTOOL_NAMES_MAX; EAGAIN: they changed at every attempt.
 */
int rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data);
