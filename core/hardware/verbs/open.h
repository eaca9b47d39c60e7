/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening of devices by libibverbs
 *
 * For a device without a loaded provider library, libibverbs loads all installed providers: 17
 * libraries, 0.7 MiB.  If the device's provider is loaded before, it loads no other.
 */
#pragma once

#include <glib.h>
#include <rdmad/types.h>
#include <rdmad/work.h>

#include "hardware/verbs/limits.h"

/* Loads the provider (lib<provider>-rdmav<N>.so) whose name is a prefix of the device's name or
 * driver.  If this heuristic fails, libibverbs loads all providers.  Runs on a worker. */
void rdmad_verbs_provider_load(const char *device_name, const char *driver);

/* Returns "mlx5" of "libmlx5-rdmav34.so"; NULL for other files.  g_free(). */
char *rdmad_verbs_provider_of_file(const char *file);

/* A request and its result.  The job sets `context` or `problem`; with `context` also `node`,
 * and `limits` or `limits_problem`. */
typedef struct {
	gatomicrefcount refs;
	char *id;     /* stable id */
	char *name;   /* device name */
	char *driver; /* NULL: unknown */
	int index;    /* of RDMA netlink; detects a device that was removed and added again */
	struct ibv_context *context;
	char *node; /* "uverbs0", which belongs to this device for its lifetime */
	char *problem;
	gboolean may_pass; /* `problem` is of this moment; the device may open later */
	int gids_errnum;   /* atomic; why the last scan could not query the GID tables, or 0 */
	RdmadVerbsLimits *limits;
	char *limits_problem;
} RdmadVerbsOpen;

RdmadVerbsOpen *rdmad_verbs_open_new(const char *id, const char *name, const char *driver,
				     int index);
RdmadVerbsOpen *rdmad_verbs_open_ref(RdmadVerbsOpen *open);
/* Dropping the last reference closes the device, which may block. */
void rdmad_verbs_open_unref(RdmadVerbsOpen *open);

/* Opens all RdmadVerbsOpen of `wanted`.  Runs on a worker. */
void rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
