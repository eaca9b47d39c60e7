/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handed-out files: whether the device files that containers have are still those of their devices
 *
 * The kernel gives a file the lowest free number when a device is registered: when its driver is
 * loaded again, a card is plugged, or the device moves between network namespaces.  A container
 * keeps the file that it was given.  The file is wrong if it is another device's or another port's
 * now, or if the file of its device and port has another path or number.
 *
 * A device that is absent, or whose snapshot is stale, says nothing about its files: they stay as
 * they were judged last.
 */
#pragma once

#include <rdmad/types.h>

/* The files of the devices that a scan has read. */
typedef struct RdmadDeviceFiles RdmadDeviceFiles;

/* `devices` of RdmadDevice. */
RdmadDeviceFiles *rdmad_device_files_new(const GPtrArray *devices);
void rdmad_device_files_free(RdmadDeviceFiles *files);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDeviceFiles, rdmad_device_files_free)

/* Returns for each file of the allocation why it is wrong, or NULL, with a free function for the
 * texts; NULL: none is wrong.  `before` is the last result, or NULL. */
GPtrArray *rdmad_device_files_judge(const RdmadDeviceFiles *files,
				    const RdmadAllocation *allocation, const GPtrArray *before);

/* Judges all allocations after each scan that found other files, and posts an event when the files
 * of one become wrong, or right again. */
typedef struct RdmadHandedOut RdmadHandedOut;

RdmadHandedOut *rdmad_handed_out_new(RdmadInventory *inventory, RdmadAllocations *allocations,
				     RdmadEventLog *event_log);
/* Does nothing if `handed_out` is NULL. */
void rdmad_handed_out_free(RdmadHandedOut *handed_out);

/* Returns the result of rdmad_device_files_judge(), borrowed until the turn of the loop ends. */
const GPtrArray *rdmad_handed_out_wrong(RdmadHandedOut *handed_out,
					const RdmadAllocation *allocation);
/* Returns a number that changes when the result of any allocation does. */
guint64 rdmad_handed_out_version(const RdmadHandedOut *handed_out);
/* Returns the wrong files with the reasons, "A; B; and 3 more", g_free(). */
char *rdmad_handed_out_text(const GPtrArray *wrong);
