/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a total: the counters that it may be made of, a bit each
 *
 * Totals of different parts are not comparable.  The bits mean the same only in totals of one kind.
 */
#pragma once

#include <rdmad/counters.h>

#define PARTS_OF_PORT	0x0000ffffu /* PORT, HW */
#define PARTS_OF_DEVICE 0xffff0000u

typedef struct {
	guint32 read;	/* what the total is made of; 0: it is unknown */
	guint32 failed; /* what the device may have, but could not be read */
} PortParts;

/* Returns all parts that a group may have. */
static inline guint32 port_parts_of(RdmadCounterGroup group)
{
	return group == RDMAD_COUNTER_DEVICE ? PARTS_OF_DEVICE : PARTS_OF_PORT;
}

#define PARTS_OF_GROUP 16u

static inline guint32 port_part(RdmadCounterGroup group, guint i)
{
	g_assert(i < PARTS_OF_GROUP);
	return port_parts_of(group) & 0x00010001u << i;
}

/* Returns whether the later total lacks something that could not be read.  What the device no
 * longer has is not missing. */
static inline gboolean port_parts_are_missing(PortParts before, PortParts now)
{
	return (before.read & ~now.read & now.failed) != 0;
}
