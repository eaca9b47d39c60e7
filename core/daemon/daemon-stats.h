/* SPDX-License-Identifier: Apache-2.0 */
/* Stats that are not counted where they happen, but read at the scrape. */
#pragma once

#include "module/services.h"

/* `services` must outlive its stats. */
void rdmad_daemon_stats_add(const RdmadServices *services);
