/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views from text, for the tests of plans.  A line is one device, an address, a default route or a
 * GPU:
 *
 *	mlx5_0 net=eth0 0/v1/fe80::1 1/v2/fe80::1 2/v1/10.0.0.1 3/v2/10.0.0.1%eth0.100
 *	mlx5_1 port=2 ib down denied iwarp efa soft far fatal driver=erdma bond=bond0
 *	address 10.0.0.1
 *	default eth0
 *	gpu 0
 *	host
 *
 * The words of a device: `port=N` begins its port N (1 stands without it); `ib`, else Ethernet;
 * `down`; `denied`, the container cannot open it; `soft`, without PCI; `gpu=N`, next to GPU N.  A
 * GID is INDEX/TYPE/ADDRESS[%NETDEV]; TYPE "v1", "v2" or "?", which cannot be read.  Without
 * `address` the addresses are not known; "address none" are none.  `host`: nothing was allocated.
 */
#pragma once

#include "plan.h"
#include "settings.h"

NcclView *view_from_text(const char *text);
/* Settings from what stands in the module's group; NULL is the default. */
NcclSettings *settings_from_text(const char *text);
/* "NAME=VALUE NAME=VALUE", or "refused: NAME"; after NO_ADDRESSES both.  g_free(). */
char *plan_to_text(const NcclPlan *plan);
/* From "NAME=VALUE NAME=VALUE". */
NcclEnv *env_from_text(const char *text);
