/* SPDX-License-Identifier: Apache-2.0 */
/* What one look at the hardware changed. */
#pragma once

#include <rdmad/device.h>
#include <rdmad/event-log.h>

typedef struct {
	const RdmadDevice *before; /* NULL: added */
	const RdmadDevice *now;	   /* NULL: removed */
} RdmadInventoryChange;

/* Both arrays in the order of the ids.  The result borrows from them; removals come first, because
 * what was added may have the name of what went. */
GArray *rdmad_inventory_diff(const GPtrArray *before, const GPtrArray *now);

/* Says in words what changed. */
void rdmad_inventory_change_post(const RdmadInventoryChange *change, RdmadEventLog *event_log);
