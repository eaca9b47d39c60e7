/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Away: the devices of this host that are in the network namespace of a pod
 *
 * A device is away when it leaves the host while an allocation has it that may move it, and its PCI
 * function stays with its driver.  This needs exclusive RDMA namespaces; without them only the
 * interface of a port moves, and its RDMA device stays on the host (`netdev_in_pod`).  Both are
 * away until they return, also after the end of the allocation.  They are written to the
 * database, because a pod outlives rdmad.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/inventory.h>
#include <rdmad/state.h>
#include <rdmad/sysroot.h>

typedef struct RdmadAwayTable RdmadAwayTable;

/* Reads what an earlier rdmad wrote.  Errors as those of rdmad_tables_open(). */
RdmadAwayTable *rdmad_away_open(RdmadState *state, RdmadAllocations *allocations,
				const RdmadSysroot *sysroot, GError **error);
void rdmad_away_close(RdmadAwayTable *away);

/* Judges a scan: `before` and `now` are all devices of the last scan and of this one, sorted by id.
 * `can_move` FALSE: RDMA namespaces are shared.  Returns whether a device was away before and is
 * gone or back now, or is away now. */
gboolean rdmad_away_scanned(RdmadAwayTable *away, const GPtrArray *before, const GPtrArray *now,
			    gboolean can_move);
/* Sets `netdev_in_pod` of the ports of a device that is not published yet; `last`: of the last
 * scan, or NULL. */
void rdmad_away_set_ports(RdmadAwayTable *away, const RdmadDevice *last, RdmadDevice *now);

const RdmadAwayDevice *rdmad_away_find(RdmadAwayTable *away, const char *id);
void rdmad_away_foreach(RdmadAwayTable *away,
			void (*fn)(const RdmadAwayDevice *device, gpointer data), gpointer data);
