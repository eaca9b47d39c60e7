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

typedef struct {
	char *id; /* stable id of the device */
	char *stem;
	const RdmadDevice *dev; /* NULL: gone, or no longer selected */
	int numa_node;		/* last known, or RDMAD_UNKNOWN */
	gint64 gone_us;		/* since when */
	RdmadHealth health;
	const char *told_problem; /* see rdmad_pool_take_news() */
	guint share;		  /* how many slots of its own it has */
	guint n_slots;		  /* listed */
	GPtrArray *held;	  /* slot ids, of the last update */
} RdmadPoolDevice;

typedef struct {
	char *id;
	RdmadPoolDevice *device;
} RdmadSlot;

/* A device for this resource, as the selectors gave it. */
typedef struct {
	const RdmadDevice *dev;
	gboolean marked; /* it stands in an earlier resource, too */
} RdmadPoolMember;

/* A slot that an allocation holds. */
typedef struct {
	const char *slot;
	const char *device;
} RdmadHeldSlot;

typedef struct {
	gint64 now_us; /* monotonic */
	gint64 health_delay_us, forget_us;
	const RdmadPoolMember *members;
	guint n_members;
	const RdmadHeldSlot *held;
	guint n_held;
} RdmadPoolView;

typedef struct RdmadPool RdmadPool;

RdmadPool *rdmad_pool_new(RdmadResourceSettings *settings);
void rdmad_pool_free(RdmadPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPool, rdmad_pool_free)

/* Other settings of the same name; the next update follows them. */
void rdmad_pool_configure(RdmadPool *pool, RdmadResourceSettings *settings);
RdmadResourceSettings *rdmad_pool_settings(const RdmadPool *pool);

/* Works out devices and slots again.  When to come again though nothing changed, in microseconds
 * from now; 0: never. */
gint64 rdmad_pool_update(RdmadPool *pool, const RdmadPoolView *view);

/* Calls `fn` for each device whose health is not what it was at the last call; a device begins as a
 * healthy one. */
void rdmad_pool_take_news(RdmadPool *pool, void (*fn)(const RdmadPoolDevice *device, gpointer data),
			  gpointer data);

/* All borrowed until the next update. */
guint rdmad_pool_device_count(const RdmadPool *pool);
const RdmadPoolDevice *rdmad_pool_device(const RdmadPool *pool, guint index);
guint rdmad_pool_slot_count(const RdmadPool *pool);
const RdmadSlot *rdmad_pool_slot(const RdmadPool *pool, guint index);
/* Also by what other plugins call it, "<pci>@7" or "<name>/7". */
const RdmadSlot *rdmad_pool_find(const RdmadPool *pool, const char *slot);
/* TRUE when `count` slots a device would not have fitted into one message. */
gboolean rdmad_pool_is_cut(const RdmadPool *pool);
