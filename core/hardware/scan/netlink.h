/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a scan from RDMA netlink (nldev) and rtnetlink.  Blocks; runs on a worker. */
#pragma once

#include "hardware/scan/scan.h"

/*
 * Requests RDMA devices, ports, their netdevs, interface addresses and the netns mode, and
 * completes `scan` with the values that sysfs lacks.  A failure becomes a problem of the device.
 * Returns FALSE only if there is no RDMA netlink.
 */
gboolean rdmad_netlink_complete(RdmadScan *scan, GError **error);
