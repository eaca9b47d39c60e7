/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider libraries of libibverbs
 *
 * For a device without a loaded provider, libibverbs loads every provider that is installed: 17
 * libraries, 0.7 MiB.  With the right one loaded before, it needs no other.
 */
#pragma once

#include <glib.h>
#include <rdmad/types.h>
#include <rdmad/work.h>

#include "hardware/verbs/limits.h"

/* Loads the provider (lib<provider>-rdmav<N>.so) whose name the device's name or driver begins
 * with.  A guess, by no table of vendors: where it fails, libibverbs does as it always does. Worker
 * thread. */
void rdmad_verbs_provider_load(const char *device_name, const char *driver);

/* "mlx5" of "libmlx5-rdmav34.so"; NULL for a file of another kind.  g_free(). */
char *rdmad_verbs_provider_of_file(const char *file);

/* A request and its result: the job sets `context` or `problem`, and with the context `node` and `limits`
 * or `limits_problem`. */
typedef struct {
	gatomicrefcount refs;
	char *id;     /* stable id */
	char *name;   /* device name */
	char *driver; /* NULL where it is not known */
	int index;    /* RDMA netlink's, so that a device that came again is known as such */
	struct ibv_context *context;
	char *node; /* "uverbs0", of this device for as long as it lives */
	char *problem;
	int gids_errnum; /* atomic: why the last scan could not query its GID tables; 0: it could */
	RdmadVerbsLimits *limits;
	char *limits_problem;
} RdmadVerbsOpen;

RdmadVerbsOpen *rdmad_verbs_open_new(const char *id, const char *name, const char *driver,
				     int index);
RdmadVerbsOpen *rdmad_verbs_open_ref(RdmadVerbsOpen *open);
/* The last one closes what is open, which may block. */
void rdmad_verbs_open_unref(RdmadVerbsOpen *open);

/* Opens all of `wanted` (GPtrArray of RdmadVerbsOpen).  Worker thread. */
void rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
