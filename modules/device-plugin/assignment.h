/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignment: which devices stand in which resource
 *
 * A device may stand in any number of shared resources.  An exclusive resource has its devices for
 * itself: of several resources that select one, and one of them exclusive, the first in the file
 * keeps it, and the conflict is told.
 */
#pragma once

#include "pool.h"

typedef struct {
	GPtrArray *members;   /* a GArray of RdmadPoolMember for each resource, in their order */
	GPtrArray *conflicts; /* sentences */
} RdmadAssignment;

/* `resources` of RdmadResourceSettings, `devices` of RdmadDevice, both in order and kept by the
 * caller as long as the result. */
RdmadAssignment *rdmad_assignment_new(const GPtrArray *resources, const GPtrArray *devices);
void rdmad_assignment_free(RdmadAssignment *assignment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadAssignment, rdmad_assignment_free)
