/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignment: the resources of each device
 *
 * A device is in one resource, or in several shared ones that allow it (`shared_with`).  If
 * resources that may not share it select the same device, the first in the file has it, and the
 * conflict is reported.  A device whose virtual functions are in use is only in resources with
 * `busy_pfs`.
 */
#pragma once

#include <rdmad/module.h>

#include "pool.h"
#include "settings.h"

typedef struct {
	GPtrArray *members;   /* a GArray of PoolMember for each resource, in their order */
	GPtrArray *conflicts; /* messages */
} Assignment;

/* Returns whether both may have a device: neither is exclusive, and one has the other in
 * `shared_with`. */
gboolean assignment_may_share(const ResourceSettings *a, const ResourceSettings *b);

/* `resources` of ResourceSettings, `devices` of RdmadDevice, both in order; the result borrows
 * them. */
Assignment *assignment_new(const GPtrArray *resources, const GPtrArray *devices);
void assignment_free(Assignment *assignment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Assignment, assignment_free)

/* Calls `fn` for each resource: `refusal` is NULL if the resource has the device, else the reason
 * why not. */
void assignment_explain(const GPtrArray *resources, const GPtrArray *devices,
			const RdmadDevice *dev,
			void (*fn)(const ResourceSettings *resource, const char *refusal,
				   gpointer data),
			gpointer data);
