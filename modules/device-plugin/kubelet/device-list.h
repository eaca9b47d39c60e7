/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pool.h"

/* The ListAndWatchResponse of a pool: every slot with its health and NUMA node. */
GBytes *device_list_pack(const Pool *pool);
