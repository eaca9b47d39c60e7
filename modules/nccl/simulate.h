/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulation of NCCL's own choice: which ports, and which GID of each, the given environment leads to
 *
 * Written from src/transport/net_ib (init, connect, common) and src/misc/utils of NCCL 2.18 to 2.30,
 * and from the behaviour of NVIDIA's libnccl 2.18.3 to 2.32.3 on soft-RoCE.
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
	guint index;	     /* as it reaches the queue pair: 8 bits */
	const RdmadGid *gid; /* borrowed from the device */
} NcclPick;

typedef struct {
	const RdmadDevice *device;
	const RdmadPort *port;
	NcclPick pick;
} NcclOutcome;

/* Ports that NCCL uses at most. */
guint nccl_port_limit(guint minor);

/* NcclOutcome for each port that NCCL 2.`minor` uses, in the view's order; g_array_unref(). */
GArray *nccl_simulate(const NcclView *view, const NcclEnv *env, guint minor);

/* The GID of one RoCE or InfiniBand port. */
NcclPick nccl_simulate_gid(const RdmadPort *port, const NcclEnv *env, guint minor);
