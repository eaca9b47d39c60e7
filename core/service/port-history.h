/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port history: counts of port changes, carried from one scan to the next
 *
 * A scan reads the current state, and the number of carrier changes of a port's interface.  The
 * kernel reports every change, but possibly late.  Each change is counted when the first of these
 * shows it.  A report during a scan may be older or newer than the scan's state, so it is counted
 * with the next scan.
 *
 * A port also changes when a pod gets or returns its interface, and when the interface is set up or
 * down.  So a port flaps if it goes down and comes back during one use: with the same interface in
 * the host's namespace, or without one, set up as before, and with the same holder of the device.
 */
#pragma once

#include <rdmad/device.h>

typedef struct RdmadPortHistory RdmadPortHistory;

RdmadPortHistory *rdmad_port_history_new(void);
void rdmad_port_history_free(RdmadPortHistory *history);

/* Call for each scan if the kernel reports changes of this device.  Otherwise only scans count. */
void rdmad_port_history_expect_events(RdmadPortHistory *history, const char *id);
/* Records that the kernel reported a port as active or inactive. */
void rdmad_port_history_event(RdmadPortHistory *history, const char *id, guint port,
			      gboolean active);
/* Records that the device has another holder. */
void rdmad_port_history_holder_changed(RdmadPortHistory *history, const RdmadDevice *dev);
/* Returns whether both snapshots of a port show the same interface, or none, set up or not. */
gboolean rdmad_port_history_is_same_use(const RdmadDevice *before, const RdmadPort *old,
					const RdmadDevice *after, const RdmadPort *now);
/* Starts a scan: later reports do not count for it. */
void rdmad_port_history_begin_scan(RdmadPortHistory *history);

/* Fills the counts of a scanned device.  `old` is its previous snapshot, or NULL: the counts of a
 * new or returned device start from 0. */
void rdmad_port_history_carry(RdmadPortHistory *history, const RdmadDevice *old, RdmadDevice *now);
/* Keeps the reports of a device that the scan did not read for a later scan. */
void rdmad_port_history_skip(RdmadPortHistory *history, const RdmadDevice *dev);
/* Ends the scan after all devices are handled: drops its reports. */
void rdmad_port_history_end_scan(RdmadPortHistory *history);
