/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/nccl?allocation=ID&version=V&format=F on the control socket
 *
 * Without `allocation`: the plan for the host itself.  `version`: as in the configuration.  `format`:
 * "json" (the plan), "sh", "conf" or "explain" (text/plain).  404: no such allocation; 400: no such
 * version or format; 409: there are no settings; the body is that of the format all the same.
 */
#pragma once

#include "containers.h"

typedef struct NcclApi NcclApi;

/* RDMAD_ERROR_BUSY: the route is taken. */
NcclApi *nccl_api_new(RdmadModule *self, const NcclContainers *containers,
		      NcclSettings *const *settings, GError **error);
void nccl_api_free(NcclApi *api);
