/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moved devices: what stays true of a device that module cni moved into a pod
 *
 * With exclusive RDMA namespaces such a device leaves the inventory, and its attachment has only
 * its name, its addresses and the index of a GID.  Its last snapshot is kept without GIDs and
 * interfaces, which the namespace changes, in the database too, until no allocation holds the
 * device.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/device.h>

typedef struct NcclMoved NcclMoved;

/* Reads the devices of an earlier rdmad.  Errors as those of rdmad_tables_open(). */
NcclMoved *nccl_moved_open(RdmadModule *self, RdmadState *state, RdmadAllocations *allocations,
			   GError **error);
void nccl_moved_close(NcclMoved *moved);

/* Keeps a device that left the inventory, if an allocation holds it. */
void nccl_moved_keep(NcclMoved *moved, const RdmadDevice *device);
/* Forgets the devices that no allocation holds. */
void nccl_moved_prune(NcclMoved *moved);
/* Returns the device of that name and of the allocation, borrowed, or NULL. */
const RdmadDevice *nccl_moved_find(const NcclMoved *moved, const RdmadAllocation *allocation,
				   const char *name);
/* Returns a new reference with all other members unknown, that of a device of one function. */
RdmadDevice *nccl_moved_device_new(const char *id, const char *name);
/* Returns a copy that the caller may modify. */
RdmadDevice *nccl_moved_device_copy(const RdmadDevice *device);
