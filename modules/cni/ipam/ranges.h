/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that the IPAM plugin allocates a shared NIC's addresses from: the subnets of the NIC's own
 * addresses, behind these
 *
 * A platform that gives each NIC of each node a subnet of its own reserves its addresses for the
 * node's pods: of 192.0.2.66/27 those from 192.0.2.67 to 192.0.2.94.
 */
#pragma once

#include "view.h"

/* Returns JSON for runtimeConfig.ipRanges, a set for the first address of each family; g_free().
 * CNI_ERROR_ADDRESS. */
char *cni_ipam_ranges(const CniView *host, const char *netdev, GError **error);
