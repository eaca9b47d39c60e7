/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of render. */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/attributes.h>
#include <rdmad/inventory.h>
#include <rdmad/stats.h>

#include "render/family.h"
#include "snapshot.h"

/* The families with rdmad's own names, see render.c. */
typedef enum {
	RENDER_DEVICE_INFO,
	RENDER_DEVICE_FATAL,
	RENDER_DEVICE_PROBLEMS,
	RENDER_DEVICE_SUCCESS,
	RENDER_DEVICE_DURATION,
	RENDER_COUNTER_UNREADABLE,
	RENDER_COUNTER_SATURATED,
	RENDER_PORT_INFO,
	RENDER_PORT_STATE_ID,
	RENDER_PORT_PHYSICAL_STATE_ID,
	RENDER_PORT_STATE,
	RENDER_PORT_RATE,
	RENDER_PORT_AT_REST,
	RENDER_PORT_TRANSITIONS,
	RENDER_PORT_FLAPS,
	RENDER_PORT_CHANGED,
	RENDER_PORT_GID_CHANGES,
	RENDER_PORT_GIDS,
	RENDER_GID_INFO,
	RENDER_NETDEV_INFO,
	RENDER_NETDEV_CARRIER,
	RENDER_NETDEV_MTU,
	RENDER_NETDEV_SPEED,
	RENDER_DEVICE_USES, /* RDMAD_USES_KINDS of them */
	RENDER_POD_USES =
		RENDER_DEVICE_USES + RDMAD_USES_KINDS, /* the first kinds, which pods have too */
	RENDER_COLLECTOR_SUCCESS = RENDER_POD_USES + RDMAD_USES_CM_ID + 1,
	RENDER_SCRAPE_DURATION,
	RENDER_COMPAT_INFO,
	RENDER_COMPAT_STATE_ID,
	RENDER_COMPAT_PHYSICAL_STATE_ID,
	RENDER_COMPAT_RATE,
	RENDER_N,
} RenderFamily;

typedef struct RenderSlots RenderSlots;

typedef struct {
	FamilySet *set;
	const Snapshot *snapshot;
	gboolean native, compat;
	Family *families[RENDER_N];
	GHashTable *devices; /* names of devices that are rendered already */
	RenderSlots *slots;
	Labels labels; /* of the object that is being rendered */
} Render;

void render_families_add(Render *render);

RenderSlots *render_slots_new(void);
void render_slots_free(RenderSlots *slots);

/* Each renders one device, which `labels` identify. */
void render_device(Render *render, const DeviceSample *sample);
void render_device_compat(Render *render, const DeviceSample *sample);
void render_netdevs(Render *render, const RdmadDevice *device);
void render_counters(Render *render, const RdmadReading *reading);
void render_users(Render *render, const DeviceSample *sample);

/* Call on the loop only. */
void render_allocations(FamilySet *set, RdmadAllocations *allocations, RdmadInventory *inventory);
void render_node(FamilySet *set, RdmadAttributes *attributes);
void render_stats(FamilySet *set, RdmadStats *stats);
