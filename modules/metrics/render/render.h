/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Render: the data of one scrape, as families
 *
 * The data of the loop is rendered first, then the devices, on any thread.
 */
#pragma once

#include <rdmad/module.h>

#include "render/family.h"
#include "snapshot.h"

/* Renders allocations, resources, the node and rdmad itself; on the loop only. */
void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self);
/* Renders the devices, once for each set. */
void render_snapshot(FamilySet *set, const Snapshot *snapshot);
