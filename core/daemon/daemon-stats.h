/* SPDX-License-Identifier: Apache-2.0 */
/* What is not counted where it happens, because it can be looked up when somebody reads. */
#pragma once

#include "module/services.h"

/* `services` must outlive its stats. */
void rdmad_daemon_stats_add(const RdmadServices *services);
