/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the inventory true: looks, listens, looks again. */
#pragma once

#include <rdmad/types.h>

typedef struct RdmadHardware RdmadHardware;

RdmadHardware *rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
				  const RdmadSysroot *sysroot, RdmadInventory *inventory,
				  RdmadAttributes *attributes, RdmadEventLog *event_log);
/* Opens the event sources, then takes the first look, which is over when this returns. */
gboolean rdmad_hardware_start(RdmadHardware *hw, GError **error);
/* Looks again soon (hints within a short time are one look). */
void rdmad_hardware_hint(RdmadHardware *hw);
/* Why the last look failed, or is not over yet after a long time; NULL: the picture is good. */
const char *rdmad_hardware_problem(const RdmadHardware *hw);
/* NULL on a recorded machine; borrowed. */
struct RdmadVerbs *rdmad_hardware_verbs(RdmadHardware *hw);
void rdmad_hardware_free(RdmadHardware *hw);

/* How far apart hint and look are, at most. */
#define RDMAD_COALESCE_MS 50u
