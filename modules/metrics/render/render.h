/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Render: what is known at one scrape, as families
 *
 * What only the loop may look at comes first, then the devices, which may be done on any thread.
 */
#pragma once

#include <rdmad/module.h>

#include "render/family.h"
#include "snapshot.h"

/* Allocations, resources, the node and rdmad itself; loop only. */
void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self);
/* The devices, once for a set. */
void render_snapshot(FamilySet *set, const Snapshot *snapshot);
