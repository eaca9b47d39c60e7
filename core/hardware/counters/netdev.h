/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a device's interfaces: the groups LINK, PAUSE, FEC, ETHTOOL of a reading */
#pragma once

#include "hardware/counters/reading.h"

/* State between the readings of one device. */
typedef struct RdmadNetdevCounters RdmadNetdevCounters;

/* `dev` and `root` must outlive the object. */
RdmadNetdevCounters *rdmad_netdev_counters_new(const RdmadSysroot *root, const RdmadDevice *dev);
void rdmad_netdev_counters_free(RdmadNetdevCounters *netdevs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNetdevCounters, rdmad_netdev_counters_free)
/* Adds the counters to the builder.  Runs on a worker. */
void rdmad_netdev_counters_read(RdmadNetdevCounters *netdevs, RdmadReadingBuilder *builder);
