/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery: the files of an allocation on the node, beside the response to kubelet
 *
 * The files exist before kubelet gets the response, are updated when devices change, and are
 * removed when the allocation ends.  They stay when rdmad stops, because the containers keep
 * running.  After a restart, and after an allocation that kubelet still listed when it ended, a
 * directory without an allocation is removed when no living pod can have it mounted: kubelet, which
 * has run for a minute, lists neither its slots nor its pod, no allocation has its slots, and the
 * pod's cgroup does not live.  If allocation.json does not identify the allocation, the directory
 * is removed only when there is no allocation at all.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

#include "allocate/cdi.h"
#include "pool.h"

typedef struct Delivery Delivery;

/* NULL or empty: no files are written there. */
typedef struct {
	const char *device_info_dir, *cdi_dir;
} DeliveryDirectories;

/* Handles the allocations that module `owner` granted. */
Delivery *delivery_new(const char *run_dir, const char *owner, RdmadAllocations *allocations,
		       const DeliveryDirectories *directories);
void delivery_free(Delivery *delivery);
void delivery_configure(Delivery *delivery, const DeliveryDirectories *directories);

/* Returns the allocation ID of a directory for these slots that has no allocation; g_free().
 * NULL: there is no such directory. */
char *delivery_recall(const Delivery *delivery, const char *resource, const char *const *slots);
/* Removes the directories without an allocation that no container can have mounted according to
 * the last list of podresources.  Returns the number of remaining ones. */
guint delivery_review(Delivery *delivery, RdmadPods *pods);
/* Reports directories without an allocation, and allocations without a directory. */
void delivery_doctor(const Delivery *delivery, struct json_t *findings);

/* Loads the files that an earlier run left. */
void delivery_load(Delivery *delivery);
/* Does the same, and watches allocations and devices from now on. */
void delivery_start(Delivery *delivery, RdmadModule *self);
void delivery_stop(Delivery *delivery);

const char *delivery_run_dir(const Delivery *delivery);
const Cdi *delivery_cdi(const Delivery *delivery);

/* Writes the files of a new allocation.  RDMAD_ERROR_FAILED. */
gboolean delivery_begin(Delivery *delivery, const RdmadAllocation *allocation, GError **error);
void delivery_end(Delivery *delivery, const RdmadAllocation *allocation);

/* Sets the device of an ID; NULL: absent.  delivery_follow() applies the change. */
void delivery_set_device(Delivery *delivery, const char *id, const RdmadDevice *dev);
void delivery_follow(Delivery *delivery);

/* delivery_offer() adds the devices of a resource (`members` of PoolMember) to the CDI
 * specification; delivery_publish() writes it, including the devices that existing allocations may
 * use.  Errors as cdi_publish(). */
void delivery_offer(Delivery *delivery, const ResourceSettings *settings, const GArray *members);
gboolean delivery_publish(Delivery *delivery, GError **error);
