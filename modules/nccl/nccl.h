/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the module that show what it knows: the API and the stats.  nccl.c starts them. */
#pragma once

#include "containers.h"

/*
 * GET /api/v1/nccl/containers: each container's plan; public, for the status page.
 *
 * GET /api/v1/nccl?allocation=ID&nccl-version=V&format=F on the control socket, and `rdmad nccl-env`
 *
 * Without `allocation`: the plan for the namespace of rdmad, the host's; with `pid` or `netns` for the network
 * namespace of a process or of a path, and the devices of the host.  `nccl-version`: as `version` in the
 * configuration.  `format`: "sh" (the default), "conf" or "json"; with `explain=1` every port and GID.  The
 * answer has the form as "text" and the whole plan as "plan".  404: no such allocation, process or path;
 * 400: no such version or format; 409: there are no settings, "error" says why, and "text" and "plan" are
 * there all the same.
 */
typedef struct NcclApi NcclApi;

/* `rdmad nccl-env`. */
extern const RdmadCommand NCCL_COMMANDS[];

/* RDMAD_ERROR_BUSY: the route is taken. */
NcclApi *nccl_api_new(RdmadModule *self, const NcclContainers *containers,
		      NcclSettings *const *settings, GError **error);
void nccl_api_free(NcclApi *api);

/* Metrics of the plans. */
typedef struct NcclStats NcclStats;

NcclStats *nccl_stats_new(RdmadModule *self, const NcclContainers *containers,
			  NcclSettings *const *settings, GError **error);
void nccl_stats_free(NcclStats *stats);
