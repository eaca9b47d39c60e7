/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a scan from netlink: RDMA (nldev) and rtnetlink.  Blocking; runs on a worker. */
#pragma once

#include "hardware/scan/scan.h"

/*
 * Requests RDMA devices, ports, their netdevs, interface addresses and the netns mode, and
 * completes `scan` with what sysfs lacks.  A failure is a problem of the device, never an error of
 * the whole; FALSE only if there is no RDMA netlink at all.
 */
gboolean rdmad_netlink_complete(RdmadScan *scan, GError **error);
