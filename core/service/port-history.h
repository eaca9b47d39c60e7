/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port history: numbers of changes of ports, carried from one scan to the next
 *
 * A scan reads the state of a moment, and is never late; it also reads the carrier changes of a
 * port's interface.  The kernel reports every change, and may be late: each change is counted when
 * the first of them shows it.  A report during a scan may be older or newer than the scan's state:
 * it is counted with the scan after that.
 */
#pragma once

#include <rdmad/device.h>

typedef struct RdmadPortHistory RdmadPortHistory;

RdmadPortHistory *rdmad_port_history_new(void);
void rdmad_port_history_free(RdmadPortHistory *history);

/* The kernel reports changes of this device: to be set for each scan.  Without reports, only scans
 * count. */
void rdmad_port_history_hears(RdmadPortHistory *history, const char *id);
/* The kernel reported that a port has become active, or is no longer. */
void rdmad_port_history_event(RdmadPortHistory *history, const char *id, guint port,
			      gboolean active);
/* Later reports do not count for this scan. */
void rdmad_port_history_look_begins(RdmadPortHistory *history);

/* Fills the counts of a scanned device.  `old` is its previous snapshot, or NULL: the counts of a
 * new or returned device start from 0. */
void rdmad_port_history_carry(RdmadPortHistory *history, const RdmadDevice *old, RdmadDevice *now);
/* The scan did not read this device: its reports are for a later one. */
void rdmad_port_history_skip(RdmadPortHistory *history, const RdmadDevice *dev);
/* Called once that was done for all: drops the reports for this scan. */
void rdmad_port_history_look_ends(RdmadPortHistory *history);
