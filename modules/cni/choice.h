/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NICs an ADD is about, and what they are called in the pod
 *
 * - runtimeConfig.deviceID, or Multus' deviceID: this one, as CNI_IFNAME.
 * - Behind another plugin, which has made CNI_IFNAME: the entries of the pod's annotation take the
 *   devices that the pod was allocated, in rail order; without annotation all of them come, as eth1
 *   and so on.  A pod without devices passes through.
 * - Alone: the next of the pod's devices, as CNI_IFNAME.
 *
 * Rail order is that of rdmad_nics_compare() without GPUs, and within one device of the slots.
 */
#pragma once

#include "annotation.h"
#include "request.h"
#include "settings.h"

/* A slot of the pod's allocations. */
typedef struct {
	const char *allocation, *resource, *slot_id;
	const RdmadDevice *device;
	CniMode mode; /* exclusive, shared, shared-multi; allocation: not told */
} CniSlot;

/* An attachment that exists, of any pod. */
typedef struct {
	const char *container_id, *ifname;
	const char *device_id; /* stable */
	const char *slot_id;   /* NULL: it has no slot */
	CniMode mode;
	guint addresses; /* 0: not planned yet */
} CniUse;

/* The GID table of a device's port. */
typedef struct {
	guint capacity; /* 0: not known */
	guint used;
	guint each; /* entries of an address: RoCE v1 and v2, or one of them */
} CniGids;

/* The GIDs in the inventory, which may be older than the latest attachments, and those of all
 * attachments of the device; without the capacity. */
CniGids cni_gids_count(const RdmadDevice *dev, const char *netdev, const CniUse *uses,
		       guint n_uses);

typedef struct {
	const CniSettings *settings;
	const CniRequest *request;
	const CniSlot *slots;
	guint n_slots;
	const RdmadDevice *const *devices; /* the inventory */
	guint n_devices;
	const CniUse *uses;
	guint n_uses;
} CniChoiceInput;

typedef struct {
	const RdmadDevice *device; /* borrowed, as policy and entry */
	const char *netdev;	   /* the interface that is moved, or made upon */
	const CniPolicy *policy;
	CniMode mode; /* never CNI_MODE_ALLOCATION */
	char *ifname;
	const char *allocation, *slot_id; /* NULL: not of an allocation */
	const CniAnnotationEntry *entry;  /* NULL: there is no annotation */
} CniChoice;

/* A GPtrArray of CniChoice that frees them; empty: there is nothing to do.  `entries`: the parsed
 * annotation, or NULL.  CNI_ERROR_DEVICE, CNI_ERROR_HELD, CNI_ERROR_ALLOCATION, CNI_ERROR_CONFIG. */
GPtrArray *cni_choose(const CniChoiceInput *input, const GPtrArray *entries, GError **error);

/* Whether another plugin has made CNI_IFNAME. */
gboolean cni_request_is_chained(const CniRequest *request);
