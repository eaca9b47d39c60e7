/* SPDX-License-Identifier: Apache-2.0 */
/*
 * View: the devices and addresses that one container in one network namespace can see
 *
 * The view is the only input of a plan.  Devices are references to immutable snapshots, in natural
 * order of their names.
 */
#pragma once

#include <rdmad/device.h>

#include "addresses.h"

/* Limit for nodes with thousands of virtual functions; the plan warns when it is exceeded. */
#define NCCL_VIEW_DEVICES 4096u

typedef struct {
	const RdmadDevice *device;
	gboolean granted;    /* its uverbs device file exists, so that NCCL can open it */
	gboolean moved;	     /* into the container; a port without GIDs may have some there */
	guint64 left_out[4]; /* set of the numbers of ports that were not allocated, by bit */
} NcclViewDevice;

typedef struct {
	GArray *devices;	  /* NcclViewDevice */
	GPtrArray *gpus;	  /* RdmadGpu, in the order of their addresses */
	NcclAddresses *addresses; /* NULL: unknown */
	char **default_netdevs;	  /* never NULL */
	gboolean allocated; /* the devices were allocated: each is used, or the plan says why not;
			     * FALSE if the container can open others as well */
	gboolean cut;	    /* the node has more devices than NCCL_VIEW_DEVICES */
} NcclView;

NcclView *nccl_view_new(void);
void nccl_view_free(NcclView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclView, nccl_view_free)

/* Takes a new reference. */
void nccl_view_add_device(NcclView *view, const RdmadDevice *device, gboolean granted);
void nccl_view_add_gpu(NcclView *view, const RdmadGpu *gpu);
/* Leaves a port of the last device out. */
void nccl_view_leave_out(NcclView *view, const RdmadPort *port);
gboolean nccl_view_leaves_out(const NcclViewDevice *entry, const RdmadPort *port);
/* Sorts the view, after the last device was added. */
void nccl_view_sort(NcclView *view);

/* Takes ownership of both. */
void nccl_view_set_network(NcclView *view, NcclAddresses *addresses, char **default_netdevs);

const NcclViewDevice *nccl_view_device(const NcclView *view, guint index);
/* Returns whether the GID's address is one of the namespace; TRUE if its addresses are unknown. */
gboolean nccl_view_owns(const NcclView *view, const RdmadGid *gid);
