/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pool.h"

/* ListAndWatchResponse with all slots.  `before` is the last one of the pool, or NULL: devices whose
 * slots did not change are copied from it. */
GBytes *device_list_pack(Pool *pool, GBytes *before);
