/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the virtual functions of a device are in use, so that nobody should get the device itself. */
#pragma once

#include <rdmad/module.h>

#include "pool.h"
#include "settings.h"

typedef struct {
	GPtrArray *members;   /* a GArray of RdmadPoolMember for each resource, in their order */
	GPtrArray *conflicts; /* sentences */
} RdmadAssignment;

/* The devices of the inventory, as the functions below want them; borrowed. */
GPtrArray *rdmad_assignment_devices(RdmadModule *self);

/* Neither is exclusive, and one of them names the other. */
gboolean rdmad_assignment_may_share(const RdmadResourceSettings *a, const RdmadResourceSettings *b);

/* `resources` of RdmadResourceSettings, `devices` of RdmadDevice, both in order and kept by the
 * caller as long as the result. */
RdmadAssignment *rdmad_assignment_new(const GPtrArray *resources, const GPtrArray *devices);
void rdmad_assignment_free(RdmadAssignment *assignment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadAssignment, rdmad_assignment_free)

/* Tells of each resource whether it has the device (`refusal` NULL), or why not. */
void rdmad_assignment_explain(const GPtrArray *resources, const GPtrArray *devices,
			      const RdmadDevice *dev,
			      void (*fn)(const RdmadResourceSettings *resource, const char *refusal,
					 gpointer data),
			      gpointer data);
