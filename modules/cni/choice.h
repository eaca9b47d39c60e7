/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs of an ADD, and their names in the pod
 *
 * - With a device ID in the request: that device, as CNI_IFNAME, or after another plugin, which has
 *   made CNI_IFNAME, under the first free name from eth1.
 * - After another plugin, without a device ID: each entry of the pod's annotation for a network in
 *   `annotation_networks` takes one of the pod's allocated devices, in rail order; without an
 *   annotation the pod gets all of them, under the free names from eth1.  A pod without devices and
 *   annotation passes through.
 * - As the only plugin: the next of the pod's devices, as CNI_IFNAME.
 *
 * Rail order is that of rdmad_nics_compare() without GPUs, then the order of the slots of one
 * device.
 */
#pragma once

#include "annotation.h"
#include "request.h"
#include "settings.h"

/* A slot of the pod's allocations. */
typedef struct {
	const char *allocation, *resource, *slot_id;
	const RdmadDevice *device;
	CniMode mode; /* exclusive, shared, shared-multi; allocation: unknown */
	/* Interface of the first port that the resource selects; NULL: not known. */
	const char *netdev;
} CniSlot;

/* A NIC of an existing attachment, of any pod. */
typedef struct {
	const char *container_id, *ifname;
	const char *device_id; /* stable identifier */
	const char *slot_id;   /* NULL: no slot */
	CniMode mode;
	guint addresses; /* 0: not planned yet */
} CniUse;

/* The GID table of a device's port. */
typedef struct {
	guint capacity; /* 0: unknown */
	guint used;
	guint each; /* entries for each address: RoCE v1 and v2, or one of them */
} CniGids;

/* Counts the GIDs of the inventory, which may be older than the latest attachments, and those of
 * all attachments of the device.  Leaves the capacity 0. */
CniGids cni_gids_count(const RdmadDevice *dev, const char *netdev, const CniUse *uses,
		       guint n_uses);

typedef struct {
	const CniSettings *settings;
	const CniRequest *request;
	const CniSlot *slots;
	guint n_slots;
	const RdmadDevice *const *devices; /* the devices of the inventory */
	guint n_devices;
	const CniUse *uses;
	guint n_uses;
} CniChoiceInput;

typedef struct {
	const RdmadDevice *device; /* borrowed, like all pointers but ifname */
	const char *netdev;	   /* the interface to move, or the parent of the new one */
	const CniPolicy *policy;
	CniMode mode; /* never CNI_MODE_ALLOCATION */
	char *ifname;
	const char *allocation, *slot_id; /* NULL: not allocated */
	const CniAnnotationEntry *entry;  /* NULL: no annotation */
} CniChoice;

/* Returns a GPtrArray that owns its CniChoice; empty: nothing to do.  `entries`: the parsed
 * annotation, or NULL. CNI_ERROR_DEVICE, CNI_ERROR_HELD, CNI_ERROR_ALLOCATION, CNI_ERROR_CONFIG. */
GPtrArray *cni_choose(const CniChoiceInput *input, const GPtrArray *entries, GError **error);

/* Returns whether another plugin has made CNI_IFNAME. */
gboolean cni_request_is_chained(const CniRequest *request);
