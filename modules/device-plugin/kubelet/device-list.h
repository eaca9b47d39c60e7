/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pool.h"

/* Returns a ListAndWatchResponse with all slots.  `before` is the previous one of the pool, or
 * NULL; devices without changes are copied from it. */
GBytes *device_list_pack(Pool *pool, GBytes *before);
