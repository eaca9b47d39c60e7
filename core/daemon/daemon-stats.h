/* SPDX-License-Identifier: Apache-2.0 */
/* Stats that are read at a scrape instead of being counted */
#pragma once

#include "module/services.h"

/* `services` must outlive its stats. */
void rdmad_daemon_stats_add(const RdmadServices *services);
