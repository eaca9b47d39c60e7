/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery: an allocation's files on the node, beside the response to kubelet
 *
 * They exist before kubelet gets the response, follow the devices, and are removed when the
 * allocation ends.  They stay when rdmad stops, because the containers keep running.  A directory
 * without an allocation that the next start finds is removed when no living pod can have it
 * mounted: kubelet, which has run for a minute, lists neither its slots nor its pod, no allocation
 * has its slots, and the pod's cgroup does not live.  If allocation.json does not identify its
 * allocation, no allocation at all may be left.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

#include "allocate/cdi.h"
#include "pool.h"

typedef struct Delivery Delivery;

/* NULL or empty: nothing there. */
typedef struct {
	const char *device_info_dir, *cdi_dir;
} DeliveryDirectories;

/* For the allocations that module `owner` granted. */
Delivery *delivery_new(const char *run_dir, const char *owner, RdmadAllocations *allocations,
		       const DeliveryDirectories *directories);
void delivery_free(Delivery *delivery);
void delivery_configure(Delivery *delivery, const DeliveryDirectories *directories);

/* The id under which a container has these slots by its directory, though no allocation is known;
 * g_free(). NULL: there is no such directory. */
char *delivery_recall(const Delivery *delivery, const char *resource, const char *const *slots);
/* Removes the directories that no container can have mounted, by the last list.  Returns how many
 * are left. */
guint delivery_review(Delivery *delivery, RdmadPods *pods);
/* Directories without an allocation, and allocations without a directory. */
void delivery_doctor(const Delivery *delivery, struct json_t *findings);

/* Takes over what an earlier run left. */
void delivery_load(Delivery *delivery);
/* The same; and follows allocations and devices from now on. */
void delivery_start(Delivery *delivery, RdmadModule *self);
void delivery_stop(Delivery *delivery);

const char *delivery_run_dir(const Delivery *delivery);
const Cdi *delivery_cdi(const Delivery *delivery);

/* For an allocation that is granted now.  RDMAD_ERROR_FAILED. */
gboolean delivery_begin(Delivery *delivery, const RdmadAllocation *allocation, GError **error);
void delivery_end(Delivery *delivery, const RdmadAllocation *allocation);

/* Sets the device behind an id; NULL: none.  delivery_follow() acts on it. */
void delivery_set_device(Delivery *delivery, const char *id, const RdmadDevice *dev);
void delivery_follow(Delivery *delivery);

/* Names for runtimes: each resource adds its devices (`members` of PoolMember), then they are
 * published, with those that living allocations may use.  Errors as cdi_publish(). */
void delivery_offer(Delivery *delivery, const ResourceSettings *settings, const GArray *members);
gboolean delivery_publish(Delivery *delivery, GError **error);
