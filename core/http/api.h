/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON API under /api/v1/: what the CLI and the status page show
 *
 * GET status, devices, allocations, topology, events, doctor, facts; schemas in contrib/man/rdmad-api.7.
 */
#pragma once

#include "daemon/services.h"

/* `services` must outlive the http server. */
gboolean rdmad_api_start(const RdmadServices *services, GError **error);
