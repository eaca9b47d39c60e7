/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the virtual functions of a device are in use, so that nobody should get the device itself. */
#pragma once

#include "settings.h"

/* "its virtual function mlx5_2 is in rdma/vf", g_free(); NULL: no, or it has none.  `devices` and
 * `resources`: all of them. */
char *rdmad_pf_use(const RdmadDevice *dev, const GPtrArray *devices, const GPtrArray *resources);
