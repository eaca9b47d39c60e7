/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs: device attributes and asynchronous events through a uverbs descriptor
 *
 * Verbs are optional: a device that cannot be opened is served from netlink and sysfs only.
 */
#pragma once

#include <rdmad/address.h>

#include "hardware/verbs/limits.h"

typedef struct RdmadVerbs RdmadVerbs;

typedef struct {
	/* Port active or error, GID, P_Key or LID change: scan this device again.  NULL: scan all
	 * devices. */
	void (*hint)(const char *device_id, gpointer data);
	/* A port became active or inactive; a hint follows. */
	void (*port)(const char *device_id, guint port, gboolean active, gpointer data);
	/* The device will not recover by itself. */
	void (*fatal)(const char *device_id, gpointer data);
} RdmadVerbsOps;

RdmadVerbs *rdmad_verbs_new(RdmadLoop *loop, RdmadWorkers *workers, const RdmadVerbsOps *ops,
			    gpointer data);
/* Opens new devices and closes removed ones.  Call after each scan. */
void rdmad_verbs_follow(RdmadVerbs *verbs, RdmadInventory *inventory);
void rdmad_verbs_free(RdmadVerbs *verbs);
/* Returns why a device has no asynchronous events, or NULL if it has them. */
const char *rdmad_verbs_problem(const RdmadVerbs *verbs, const char *device_id);
/* Returns the open devices (RdmadVerbsOpen), each with a reference.  Drop the references soon,
 * and on a worker, because the last one closes the device. */
GPtrArray *rdmad_verbs_open_devices(const RdmadVerbs *verbs);
/* Returns the errno for which the GID tables of an open device are read from sysfs, or 0. */
int rdmad_verbs_gids_errnum(const RdmadVerbs *verbs, const char *device_id);
/* Returns the limits that the device reported when it was opened; borrowed until the next turn
 * of the loop.  NULL if it is not open (see rdmad_verbs_problem()) or did not report them. */
const RdmadVerbsLimits *rdmad_verbs_limits(const RdmadVerbs *verbs, const char *device_id);
/* Returns why an open device has no limits; NULL if it has them or is not open. */
const char *rdmad_verbs_limits_problem(const RdmadVerbs *verbs, const char *device_id);

/* bind.c: returns the name of the RDMA device that RDMA_CM resolves for an address in the
 * network namespace of this thread; g_free().  Blocks.  RDMAD_ERROR_FAILED. */
char *rdmad_verbs_bind(const RdmadIp *ip, GError **error);
