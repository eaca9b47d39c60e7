/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery: what an allocation's container finds on the node, beside what kubelet is told to give to it
 *
 * It is there before kubelet is told, follows the devices, and goes when the allocation ends.  When rdmad
 * stops it stays, for the containers run on.  A directory without an allocation that the next start finds is
 * removed when no living pod can have it mounted: kubelet, which has run for a minute, lists neither
 * its slots nor its pod, no allocation has its slots, and the pod's cgroup does not live.  Where
 * allocation.json does not say whose it was, no allocation at all may be left.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

#include "allocate/cdi.h"
#include "pool.h"

typedef struct RdmadDelivery RdmadDelivery;

/* NULL or empty: nothing there. */
typedef struct {
	const char *device_info_dir, *cdi_dir;
} RdmadDeliveryDirectories;

/* For the allocations that module `owner` granted. */
RdmadDelivery *rdmad_delivery_new(const char *run_dir, const char *owner,
				  RdmadAllocations *allocations,
				  const RdmadDeliveryDirectories *directories);
void rdmad_delivery_free(RdmadDelivery *delivery);
void rdmad_delivery_configure(RdmadDelivery *delivery, const RdmadDeliveryDirectories *directories);

/* The id under which a container has these slots by its directory, though no allocation is known; g_free().
 * NULL: there is no such directory. */
char *rdmad_delivery_recall(const RdmadDelivery *delivery, const char *resource,
			    const char *const *slots);
/* Removes the directories that nobody can have mounted, by the last list.  How many are left. */
guint rdmad_delivery_review(RdmadDelivery *delivery, RdmadPods *pods);
/* Directories without an allocation, and allocations without a directory. */
void rdmad_delivery_doctor(const RdmadDelivery *delivery, struct json_t *findings);

/* Takes over what an earlier run left. */
void rdmad_delivery_load(RdmadDelivery *delivery);
/* The same; and follows allocations and devices from now on. */
void rdmad_delivery_start(RdmadDelivery *delivery, RdmadModule *self);
void rdmad_delivery_stop(RdmadDelivery *delivery);

const char *rdmad_delivery_run_dir(const RdmadDelivery *delivery);
const RdmadCdi *rdmad_delivery_cdi(const RdmadDelivery *delivery);

/* For an allocation that is granted now.  RDMAD_ERROR_FAILED. */
gboolean rdmad_delivery_begin(RdmadDelivery *delivery, const RdmadAllocation *allocation,
			      GError **error);
void rdmad_delivery_end(RdmadDelivery *delivery, const RdmadAllocation *allocation);

/* What stands behind the id of a device now; NULL: nothing.  rdmad_delivery_follow() acts on it. */
void rdmad_delivery_set_device(RdmadDelivery *delivery, const char *id, const RdmadDevice *dev);
void rdmad_delivery_follow(RdmadDelivery *delivery);

/* Names for runtimes: each resource says its devices (`members` of RdmadPoolMember), then they are
 * published, with those that living allocations may have been given.  Errors as rdmad_cdi_publish(). */
void rdmad_delivery_offer(RdmadDelivery *delivery, const RdmadResourceSettings *settings,
			  const GArray *members);
gboolean rdmad_delivery_publish(RdmadDelivery *delivery, GError **error);
