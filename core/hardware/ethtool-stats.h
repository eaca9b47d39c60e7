/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interface's driver counts (`ethtool -S`)
 *
 * There is no netlink for these.  Three ioctls: how many there are, their names, their values; a
 * driver may change its mind between them.  Anybody may ask.
 *
 * Source: net/ethtool/ioctl.c.
 */
#pragma once

#include "hardware/ethtool-names.h"

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
