/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter port: one port's state, and its counters of the groups PORT and HW
 *
 * Keeps firmware commands few: RDMA netlink returns the state, and all of the driver's counters, in
 * one exchange each, while each file takes three commands.
 */
#pragma once

#include "hardware/counters/directory.h"
#include "hardware/netlink/rdma.h"

typedef struct {
	guint number;
	RdmadKeptFiles files;		      /* of the port itself */
	RdmadCounterDirectory link, link_ext; /* of the port itself */
	RdmadCounterDirectory hw;
	/* Until this time netlink is not queried, because it has no counters. */
	gint64 hw_files_us;
	/* The rate, with the state in which it was read. */
	RdmadPortReading rated;
	gint64 rated_us; /* 0: not read yet */
	guint64 lifespan;
	int lifespan_errnum;
	gint64 lifespan_until_us; /* 0: not read yet */
} RdmadCounterPort;

void rdmad_counter_port_init(RdmadCounterPort *port, const RdmadDevice *dev, guint number);
void rdmad_counter_port_clear(RdmadCounterPort *port);

/* `known`: the port as netlink reports it, or NULL. */
void rdmad_counter_port_read_state(RdmadCounterPort *port, RdmadReadingBuilder *builder,
				   const RdmadNldevPort *known);
void rdmad_counter_port_read_link(RdmadCounterPort *port, RdmadReadingBuilder *builder);
void rdmad_counter_port_read_hw(RdmadCounterPort *port, RdmadReadingBuilder *builder);
