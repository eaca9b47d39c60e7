/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool: the devices of one resource, and their slots
 *
 * It has no clock, no loop and no kubelet: the same input always gives the same list of slots.
 *
 * - The slots of `count` are spread over the devices, the first ones getting one more.
 * - A slot that is held is listed as long as it is held and keeps its device; others make room for
 *   it.  So no allocated slot vanishes when a device is added or the configuration changes.
 * - A device that leaves stays listed as unhealthy for `forget_us`, and its share is not given to
 *   the others in that time: reloading a driver moves no slot.  After that only its held slots
 *   stay.
 */
#pragma once

#include "health.h"
#include "settings.h"

/* Where the slots of a device stand in a message, and what it says of them. */
typedef struct {
	guint slots_version; /* 0: nowhere */
	gboolean unhealthy;
	int numa_node;
	gsize start, size;
} PoolPacked;

typedef struct {
	char *id; /* stable id of the device */
	char *stem;
	const RdmadDevice *dev; /* NULL: gone, or no longer selected */
	int numa_node;		/* last known, or RDMAD_UNKNOWN */
	gint64 gone_us;		/* since when */
	Health health;
	const char *told_problem; /* see pool_take_news() */
	guint share;		  /* how many slots of its own it has */
	guint first_slot;	  /* listed, from this one on ... */
	guint n_slots;		  /* ... as many */
	GPtrArray *held;	  /* slot ids, of the last update */
	GPtrArray *held_before;	  /* of the one before */
	PoolPacked packed;	  /* the owner's; nothing to the pool */
} PoolDevice;

typedef struct {
	char *id;
	PoolDevice *device;
} Slot;

/* A device for this resource, as the selectors gave it. */
typedef struct {
	const RdmadDevice *dev;
	gboolean marked; /* it stands in an earlier resource, too */
} PoolMember;

/* A slot that an allocation holds. */
typedef struct {
	const char *slot;
	const char *device;
} HeldSlot;

typedef struct {
	gint64 now_us; /* monotonic */
	gint64 health_delay_us, forget_us;
	const PoolMember *members;
	guint n_members;
	const HeldSlot *held;
	guint n_held;
} PoolView;

typedef struct Pool Pool;

Pool *pool_new(ResourceSettings *settings);
void pool_free(Pool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pool, pool_free)

/* Other settings of the same name; the next update follows them. */
void pool_configure(Pool *pool, ResourceSettings *settings);
ResourceSettings *pool_settings(const Pool *pool);

/* Works out devices and slots again.  When to come again though nothing changed, in microseconds
 * from now; 0: never. */
gint64 pool_update(Pool *pool, const PoolView *view);

/* Calls `fn` for each device whose health is not what it was at the last call; a device begins as a
 * healthy one. */
void pool_take_news(Pool *pool, void (*fn)(const PoolDevice *device, gpointer data), gpointer data);

/* All borrowed until the next update. */
guint pool_device_count(const Pool *pool);
const PoolDevice *pool_device(const Pool *pool, guint index);
/* NULL: the resource does not have it. */
const PoolDevice *pool_find_device(const Pool *pool, const char *id);
PoolDevice *pool_device_at(Pool *pool, guint index);
guint pool_slot_count(const Pool *pool);
/* Another one after each update that listed all slots; from 1. */
guint pool_slots_version(const Pool *pool);
const Slot *pool_slot(const Pool *pool, guint index);
/* Also by what other plugins call it, "<pci>@7" or "<name>/7". */
const Slot *pool_find(const Pool *pool, const char *slot);
/* TRUE when `count` slots a device would not have fitted into one message. */
gboolean pool_is_cut(const Pool *pool);
