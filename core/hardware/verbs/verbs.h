/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs: device attributes and asynchronous events through a uverbs descriptor
 *
 * Optional at run time: a device that cannot be opened is served from netlink and sysfs alone.
 */
#pragma once

#include <rdmad/address.h>

#include "hardware/verbs/limits.h"

typedef struct RdmadVerbs RdmadVerbs;

typedef struct {
	/* Port active or error, GID or P_Key change, LID change: scan this device again.  NULL: all of
	 * them. */
	void (*hint)(const char *device_id, gpointer data);
	/* A port has become active, or is no longer; a hint follows. */
	void (*port)(const char *device_id, guint port, gboolean active, gpointer data);
	/* The device will not recover by itself. */
	void (*fatal)(const char *device_id, gpointer data);
} RdmadVerbsOps;

RdmadVerbs *rdmad_verbs_new(RdmadLoop *loop, RdmadWorkers *workers, const RdmadVerbsOps *ops,
			    gpointer data);
/* Opens new devices, closes removed ones.  Called after each scan. */
void rdmad_verbs_follow(RdmadVerbs *verbs, RdmadInventory *inventory);
void rdmad_verbs_free(RdmadVerbs *verbs);
/* Why a device has no asynchronous events; NULL when it has them. */
const char *rdmad_verbs_problem(const RdmadVerbs *verbs, const char *device_id);
/* Those that are open (RdmadVerbsOpen), each with a reference: to be let go soon, and on a worker, as the
 * last reference closes. */
GPtrArray *rdmad_verbs_open_devices(const RdmadVerbs *verbs);
/* Why the GID tables of an open device come from sysfs; 0: they do not. */
int rdmad_verbs_gids_errnum(const RdmadVerbs *verbs, const char *device_id);
/* The device's response when it was opened; borrowed until the next turn of the loop.  NULL if it
 * is not open (see rdmad_verbs_problem()) or did not respond. */
const RdmadVerbsLimits *rdmad_verbs_limits(const RdmadVerbs *verbs, const char *device_id);
/* Why an open device has no limits; NULL when it has them, or is not open. */
const char *rdmad_verbs_limits_problem(const RdmadVerbs *verbs, const char *device_id);

/* bind.c: the RDMA device that RDMA_CM finds for an address of the network namespace of this thread: its
 * device name, g_free().  Blocks.  RDMAD_ERROR_FAILED. */
char *rdmad_verbs_bind(const RdmadIp *ip, GError **error);
