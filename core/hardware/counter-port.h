/* SPDX-License-Identifier: Apache-2.0 */
/* One port: its state, and its counters of the groups PORT and HW. */
#pragma once

#include "hardware/counter-directory.h"

typedef struct {
	guint number;
	char *path;
	RdmadCounterDirectory link, link_ext; /* counters, and what old kernels have beside it */
	RdmadCounterDirectory hw;
} RdmadCounterPort;

void rdmad_counter_port_init(RdmadCounterPort *port, const RdmadDevice *dev, guint number);
void rdmad_counter_port_clear(RdmadCounterPort *port);

void rdmad_counter_port_read_state(RdmadCounterPort *port, RdmadDraft *draft);
void rdmad_counter_port_read_link(RdmadCounterPort *port, RdmadDraft *draft);
void rdmad_counter_port_read_hw(RdmadCounterPort *port, RdmadDraft *draft);
