/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the inventory up to date: scans, waits for events, scans again. */
#pragma once

#include <rdmad/network.h>

typedef struct RdmadHardware RdmadHardware;

RdmadHardware *rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
				  const RdmadSysroot *sysroot, RdmadInventory *inventory,
				  RdmadAttributes *attributes, RdmadEventLog *event_log);
/* Opens the event sources, then runs the first scan, which has ended when this returns. */
gboolean rdmad_hardware_start(RdmadHardware *hw, GError **error);
/* Scans again soon (hints within a short time are one scan). */
void rdmad_hardware_hint(RdmadHardware *hw);
/* The same for one device, unless there is more to be scanned.  FALSE: there is no such device. */
gboolean rdmad_hardware_hint_device(RdmadHardware *hw, const char *id);
/* For the devices whose interface has changed, or its addresses, and then `link` is NULL; for all devices, if
 * it is of none, or not the one that it was. */
void rdmad_hardware_hint_interface(RdmadHardware *hw, int ifindex, const RdmadLink *link);
/* The error of the last scan, or of one that takes too long; NULL: the inventory is up to date. */
const char *rdmad_hardware_problem(const RdmadHardware *hw);
/* NULL on a recorded machine; borrowed. */
struct RdmadVerbs *rdmad_hardware_verbs(RdmadHardware *hw);
void rdmad_hardware_free(RdmadHardware *hw);

/* Maximum delay from hint to scan. */
#define RDMAD_COALESCE_MS 50u
