/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port history: how often ports changed, carried from one look at the hardware to the next
 *
 * A look finds the state of a moment, and is never late; it also finds how often the carrier of a port's
 * interface has changed.  What the kernel tells has every change, and may be late: each change is counted
 * when the first of them knows of it.  What was told while a look was
 * under way may be older or newer than what the look read: it is weighed with the look after that.
 */
#pragma once

#include <rdmad/device.h>

typedef struct RdmadPortHistory RdmadPortHistory;

RdmadPortHistory *rdmad_port_history_new(void);
void rdmad_port_history_free(RdmadPortHistory *history);

/* The kernel tells of this device: said again for each look.  Where it does not, only looks do. */
void rdmad_port_history_hears(RdmadPortHistory *history, const char *id);
/* The kernel said that a port has become active, or is no longer. */
void rdmad_port_history_event(RdmadPortHistory *history, const char *id, guint port,
			      gboolean active);
/* What is told from here on is not for this look. */
void rdmad_port_history_look_begins(RdmadPortHistory *history);

/* Fills the counts of a device that a look has found.  `old` is what the look before found, or NULL: a
 * device that is new, or there again, starts again. */
void rdmad_port_history_carry(RdmadPortHistory *history, const RdmadDevice *old, RdmadDevice *now);
/* Once that was done for all: what was told for this look is forgotten. */
void rdmad_port_history_look_ends(RdmadPortHistory *history);
