/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulation of NCCL's choice: the ports, and the GID of each, that NCCL uses with an environment
 *
 * Written from src/transport/net_ib (init, connect, common) and src/misc/utils of NCCL 2.18 to
 * 2.30, and from the behaviour of NVIDIA's libnccl 2.18.3 to 2.32.3 on soft-RoCE.
 */
#pragma once

#include "env.h"
#include "view.h"

typedef enum {
	NCCL_PICK_GID,	  /* `index`; `gid` NULL: an empty entry */
	NCCL_PICK_NONE,	  /* InfiniBand: the queue pair uses no GID */
	NCCL_PICK_CHANCE, /* depends on memory that NCCL does not initialise */
	NCCL_PICK_FAILS,  /* NCCL returns an error */
	NCCL_PICK_CRASHES,
} NcclPickKind;

typedef struct {
	NcclPickKind kind;
	guint index;	     /* as passed to the queue pair: 8 bits */
	const RdmadGid *gid; /* borrowed from the device */
} NcclPick;

typedef struct {
	const RdmadDevice *device;
	const RdmadPort *port;
	NcclPick pick;
} NcclOutcome;

/* Returns the maximum number of ports. */
guint nccl_port_limit(guint minor);

/* Returns an NcclOutcome for each port that NCCL 2.`minor` uses, in the order of the view;
 * g_array_unref(). */
GArray *nccl_simulate(const NcclView *view, const NcclEnv *env, guint minor);

/* Returns the GID of one RoCE or InfiniBand port. */
NcclPick nccl_simulate_gid(const RdmadPort *port, const NcclEnv *env, guint minor);
