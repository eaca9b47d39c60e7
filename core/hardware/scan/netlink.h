/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says over netlink: RDMA (nldev) and rtnetlink.  Blocking; runs on a worker. */
#pragma once

#include "hardware/scan/scan.h"

/*
 * Asks for RDMA devices, ports, their netdevs, interface addresses and the netns mode, and completes
 * `scan` with what sysfs does not say.  What fails is a problem of the device, never an error of
 * the whole; FALSE only when there is no RDMA netlink at all.
 */
gboolean rdmad_netlink_complete(RdmadScan *scan, GError **error);
