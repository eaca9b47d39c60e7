/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool: the devices of one resource, and their slots
 *
 * It has no clock, no loop and no kubelet: the same input always gives the same list of slots.
 *
 * - In mode shared with `count_per = "pool"` the slots of `count` are spread over the devices; the
 * first devices get the remainder.
 * - A slot that is held is listed as long as it is held and keeps its device; others make room for
 *   it.  So no allocated slot vanishes when a device is added or the configuration changes.
 * - A slot that is not held is withheld, and unhealthy for kubelet, while its device has a holder
 * that excludes another one: an exclusive device may still be held under the former name or mode of
 * its resource.
 * - A device that is in the pod of its holder is healthy.  If it has not returned at the end of the
 * holder, its slots are withheld.
 * - A device that leaves stays listed as unhealthy for `forget_us`, and its share is not given to
 *   the others in that time: reloading a driver moves no slot.  After that only its held slots
 *   stay.
 */
#pragma once

#include <rdmad/allocations.h>

#include "health.h"
#include "settings.h"

/* Where the device, or its interface, is. */
typedef enum {
	PLACE_HOST,
	PLACE_POD,	     /* the device is in a pod, or has not returned from it */
	PLACE_INTERFACE_POD, /* its interface is; the device is on the host */
} PoolPlace;

/* The part of a message with the slots of a device, and the values in it. */
typedef struct {
	guint slots_version; /* 0: not in a message */
	gboolean unhealthy, withholds;
	int numa_node;
	gsize start, size;
} PoolPacked;

typedef struct {
	char *id; /* stable id of the device */
	char *stem;
	const RdmadDevice *dev; /* NULL: absent, or no longer selected */
	int numa_node;		/* last known, or RDMAD_UNKNOWN */
	gint64 gone_us;		/* when the device was last present */
	Health health;
	const RdmadAllocation *rival; /* the holder that excludes others; NULL: none, or absent */
	PoolPlace place;
	char *withheld; /* "held by ml/train-0 as rdma/rail": why slots are withheld; NULL: none */
	const char *reported_problem; /* as of the last pool_take_news() */
	gboolean reported_withheld;   /* likewise */
	guint share;		      /* number of slots that it gets of the pool */
	guint first_slot;	      /* index of its first listed slot */
	guint n_slots, n_withheld;    /* number of its listed slots, and of those withheld */
	GPtrArray *held;	      /* slot IDs held by allocations, in this update */
	GPtrArray *held_before; /* during an update: the same in the previous one; else empty */
	PoolPacked packed;	/* for device-list.c; not used by the pool */
} PoolDevice;

typedef struct {
	char *id;
	PoolDevice *device;
} Slot;

/* A device that is assigned to the resource. */
typedef struct {
	const RdmadDevice *dev;
	gboolean marked; /* an earlier resource has it too */
	/* Set by resource_update(): the holder that excludes others, or NULL, and the place. */
	const RdmadAllocation *rival;
	PoolPlace place;
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
	/* Returns whether a device that is no member is present all the same; NULL: none is. */
	gboolean (*is_present)(const char *device, gpointer data);
	gpointer data;
} PoolView;

typedef struct Pool Pool;

Pool *pool_new(ResourceSettings *settings);
void pool_free(Pool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pool, pool_free)

/* Sets other settings of the same name, for the next update. */
void pool_configure(Pool *pool, ResourceSettings *settings);
ResourceSettings *pool_settings(const Pool *pool);

/* Updates devices and slots.  Returns the delay in microseconds after which another update is
 * needed without a change; 0: none. */
gint64 pool_update(Pool *pool, const PoolView *view);

typedef enum { POOL_NEWS_HEALTH, POOL_NEWS_WITHHELD } PoolNews;
/* Calls `fn` for each change of a device since the last call.  A new device counts as healthy, and
 * free, before. */
void pool_take_news(Pool *pool, void (*fn)(const PoolDevice *device, PoolNews news, gpointer data),
		    gpointer data);

/* The results are borrowed until the next update. */
guint pool_device_count(const Pool *pool);
const PoolDevice *pool_device(const Pool *pool, guint index);
/* Returns NULL if the resource does not have the device. */
const PoolDevice *pool_find_device(const Pool *pool, const char *id);
PoolDevice *pool_device_at(Pool *pool, guint index);
/* Returns whether the slots that nobody holds are withheld. */
gboolean pool_device_withholds(const PoolDevice *device);
/* Returns why kubelet must not give slots of the device that nobody holds, or NULL. */
const char *pool_device_problem(const PoolDevice *device);
guint pool_slot_count(const Pool *pool);
/* Returns the number of slots that are healthy for kubelet. */
guint pool_healthy_count(const Pool *pool);
gboolean pool_slot_is_healthy(const Slot *slot);
/* Returns a number, from 1, that changes with each update that lists all slots. */
guint pool_slots_version(const Pool *pool);
const Slot *pool_slot(const Pool *pool, guint index);
/* Returns the table of the pool's device answers; pool_configure() and pool_update() clear it. */
struct DeviceAnswers *pool_answers(const Pool *pool);
/* Accepts the IDs of other plugins too: "<pci>@7", "<name>/7". */
const Slot *pool_find(const Pool *pool, const char *slot);
/* Returns TRUE if `count` slots for each device would exceed one message. */
gboolean pool_is_cut(const Pool *pool);
