/* SPDX-License-Identifier: Apache-2.0 */
/*
 * View: the devices and addresses that one container in one network namespace can see
 *
 * The plan is made from this and from nothing else.  Devices are references of immutable snapshots, in
 * natural order of their names.
 */
#pragma once

#include <rdmad/device.h>

#include "addresses.h"

/* A node of thousands of virtual functions is cut here, and the plan says so. */
#define NCCL_VIEW_DEVICES 4096u

typedef struct {
	const RdmadDevice *device;
	gboolean granted; /* its uverbs node is there, so that NCCL can open it */
} NcclViewDevice;

typedef struct {
	GArray *devices;	  /* NcclViewDevice */
	GPtrArray *gpus;	  /* RdmadGpu, in the order of their addresses */
	NcclAddresses *addresses; /* NULL: not known */
	char **default_netdevs;	  /* never NULL */
	gboolean
		allocated; /* what is granted was asked for: it is used, or the plan says why not */
	gboolean cut;	   /* there are more devices than NCCL_VIEW_DEVICES */
} NcclView;

NcclView *nccl_view_new(void);
void nccl_view_free(NcclView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclView, nccl_view_free)

/* Takes a reference of its own. */
void nccl_view_add_device(NcclView *view, const RdmadDevice *device, gboolean granted);
void nccl_view_add_gpu(NcclView *view, const RdmadGpu *gpu);
/* After the last device. */
void nccl_view_sort(NcclView *view);

/* Both are taken over. */
void nccl_view_set_network(NcclView *view, NcclAddresses *addresses, char **default_netdevs);

const NcclViewDevice *nccl_view_device(const NcclView *view, guint index);
/* The GID's address is one of the namespace.  Where its addresses are not known: TRUE. */
gboolean nccl_view_owns(const NcclView *view, const RdmadGid *gid);
