/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the inventory up to date by scans after events */
#pragma once

#include <rdmad/types.h>

#include "hardware/netlink/route.h"

typedef struct RdmadHardware RdmadHardware;

RdmadHardware *rdmad_hardware_new(RdmadLoop *loop, RdmadWorkers *workers,
				  const RdmadSysroot *sysroot, RdmadInventory *inventory,
				  RdmadAttributes *attributes, RdmadEventLog *event_log);
/* Opens the event sources, then runs the first scan synchronously. */
gboolean rdmad_hardware_start(RdmadHardware *hw, GError **error);
/* Schedules a scan; hints within a short time share one scan. */
void rdmad_hardware_hint(RdmadHardware *hw);
/* Schedules a scan of one device.  Returns FALSE if there is no such device. */
gboolean rdmad_hardware_hint_device(RdmadHardware *hw, const char *id);
/* Schedules a scan of the devices of a changed interface.  Schedules a scan of all devices if the
 * interface was removed, is not the same as before, or belongs to none but may be above an
 * interface of one.  A veth, and the changes of a bridge that its ports cause, cause no scan unless
 * a device has the interface. */
void rdmad_hardware_hint_interface(RdmadHardware *hw, const RdmadRouteEvent *event);
/* Returns the error of the last scan, or of one that takes too long; NULL if the inventory is up to
 * date. */
const char *rdmad_hardware_problem(const RdmadHardware *hw);
/* Returns NULL on a recorded machine; borrowed. */
struct RdmadVerbs *rdmad_hardware_verbs(RdmadHardware *hw);
void rdmad_hardware_free(RdmadHardware *hw);

/* Maximum delay from hint to scan. */
#define RDMAD_COALESCE_MS 50u
