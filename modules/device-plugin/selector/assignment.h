/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the virtual functions of a device are in use, so that nobody should get the device itself. */
#pragma once

#include <rdmad/module.h>

#include "pool.h"
#include "settings.h"

typedef struct {
	GPtrArray *members;   /* a GArray of PoolMember for each resource, in their order */
	GPtrArray *conflicts; /* sentences */
} Assignment;

/* The devices of the inventory, as the functions below want them; borrowed. */
GPtrArray *assignment_devices(RdmadModule *self);

/* Neither is exclusive, and one of them names the other. */
gboolean assignment_may_share(const ResourceSettings *a, const ResourceSettings *b);

/* `resources` of ResourceSettings, `devices` of RdmadDevice, both in order and kept by the
 * caller as long as the result. */
Assignment *assignment_new(const GPtrArray *resources, const GPtrArray *devices);
void assignment_free(Assignment *assignment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Assignment, assignment_free)

/* Tells of each resource whether it has the device (`refusal` NULL), or why not. */
void assignment_explain(const GPtrArray *resources, const GPtrArray *devices,
			const RdmadDevice *dev,
			void (*fn)(const ResourceSettings *resource, const char *refusal,
				   gpointer data),
			gpointer data);
