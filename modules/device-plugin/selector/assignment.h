/* SPDX-License-Identifier: Apache-2.0 */
/* Use of a device's virtual functions: a device whose virtual functions are in use is not offered. */
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

/* Called for each resource: `refusal` NULL if it has the device, else the reason. */
void assignment_explain(const GPtrArray *resources, const GPtrArray *devices,
			const RdmadDevice *dev,
			void (*fn)(const ResourceSettings *resource, const char *refusal,
				   gpointer data),
			gpointer data);
