/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection of a driver's statistics
 *
 * A driver may have thousands, a dozen for each queue.  Those that matter to RDMA are flow control
 * (PFC, pause), discards and marks of congestion, errors of the link and of PCIe; each driver has
 * its own names for these.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ETHTOOL_NAME_SIZE 32u /* ETH_GSTRING_LEN */
/* More is taken for nonsense: mlx5 has some ninety for each of up to 256 channels, and those of
 * sending again for each of up to eight classes of traffic. */
#define RDMAD_ETHTOOL_NAMES_MAX 131072u

typedef struct {
	guint place; /* in the table */
	char name[RDMAD_ETHTOOL_NAME_SIZE + 1];
} RdmadEthtoolName;

typedef gboolean (*RdmadEthtoolMatters)(const char *name);

gboolean rdmad_ethtool_name_matters(const char *name);
/* For tests: the names that matter, by number, "#" standing for a digit; NULL behind the last. */
const char *rdmad_ethtool_name_pattern(guint i);
/* `table`: `n` names of RDMAD_ETHTOOL_NAME_SIZE bytes, which need not end with NUL.  Gives
 * RdmadEthtoolName, in the table's order. */
GArray *rdmad_ethtool_names_choose(const char *table, guint n, RdmadEthtoolMatters matters);
/* Whether those that were chosen are still where they were. */
gboolean rdmad_ethtool_names_hold(const GArray *chosen, const char *table, guint n);

/* Of one interface; remembers which names matter. */
typedef struct RdmadEthtoolStats RdmadEthtoolStats;
typedef void (*RdmadEthtoolStat)(const char *name, guint64 value, gpointer data);

/* `netdev`: an interface's name (rdmad_sysfs_is_netdev_name()). */
RdmadEthtoolStats *rdmad_ethtool_stats_new(const char *netdev, RdmadEthtoolMatters matters);
void rdmad_ethtool_stats_free(RdmadEthtoolStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadEthtoolStats, rdmad_ethtool_stats_free)

/*
 * Calls `fn` for each that matters, in the driver's order.  0, or an errno: EOPNOTSUPP: it has none;
 * ENODEV: there is no such interface; E2BIG: more than RDMAD_ETHTOOL_NAMES_MAX; EAGAIN: they changed
 * each time they were read.
 */
int rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data);
