/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON API under /api/v1/, for the CLI and the status page
 *
 * GET status, devices, allocations, topology, events, doctor, attributes.  contrib/man/rdmad-api.7
 * has the schemas.
 */
#pragma once

#include "module/services.h"

/* `services` must outlive the http server. */
gboolean rdmad_api_start(RdmadServices *services, GError **error);
/* Creates the cache of responses. */
struct RdmadApi *rdmad_api_new(const RdmadServices *services);
void rdmad_api_free(struct RdmadApi *api);
