/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the module that report its plans: the API and the metrics.  nccl.c creates them. */
#pragma once

#include "containers.h"

/*
 * GET /api/v1/nccl/containers: each container's plan; public, for the status page.
 *
 * GET /api/v1/nccl?allocation=ID&nccl-version=V&format=F on the control socket, and `rdmad
 * nccl-env`
 *
 * Without `allocation`, the plan is for rdmad's own namespace, the host's; with `pid` or `netns`
 * (/proc/PID/ns/net), for the network namespace of a process, and the devices of the host.
 * `nccl-version`: as `version` in the configuration.  `format`: "sh" (the default), "conf" or
 * "json"; `explain=1`: every port and GID.  The response has the text in this format as "text" and
 * the whole plan as "plan".  404: no such allocation, process or path; 400: invalid version, format
 * or path; 409: no settings are possible, with the reason as "error", and "text" and "plan" as
 * usual.
 */
typedef struct NcclApi NcclApi;

/* `rdmad nccl-env`. */
extern const RdmadCommand NCCL_COMMANDS[];

/* RDMAD_ERROR_BUSY: the route is in use. */
NcclApi *nccl_api_new(RdmadModule *self, const NcclContainers *containers,
		      NcclSettings *const *settings, GError **error);
void nccl_api_free(NcclApi *api);

/* Metrics of the plans. */
typedef struct NcclStats NcclStats;

NcclStats *nccl_stats_new(RdmadModule *self, const NcclContainers *containers,
			  NcclSettings *const *settings, GError **error);
void nccl_stats_free(NcclStats *stats);
