/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Render: the data of one scrape, as families
 *
 * Data of the loop comes first, then the devices, which any thread may render.
 */
#pragma once

#include <rdmad/module.h>

#include "render/family.h"
#include "snapshot.h"

/* Allocations, resources, the node and rdmad itself; loop only. */
void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self);
/* The devices, once for a set. */
void render_snapshot(FamilySet *set, const Snapshot *snapshot);
