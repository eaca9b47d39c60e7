/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendering: what is known, as families
 *
 * In two steps, since 512 ports are 30 000 series: the small part that only the loop may look at
 * (claims, meters, facts), then the devices on a worker.
 */
#pragma once

#include <rdmad/types.h>

#include "family.h"
#include "snapshot.h"

/* On the loop. */
void render_services(FamilySet *set, const Snapshot *snapshot, RdmadModule *self);
/* On any thread: of devices, ports, counters, interfaces, GIDs and users. */
void render_snapshot(FamilySet *set, const Snapshot *snapshot);
