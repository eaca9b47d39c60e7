/* SPDX-License-Identifier: Apache-2.0 */
/* What is not counted where it happens, because it can be looked up when somebody reads. */
#pragma once

#include "daemon/services.h"

/* `services` must outlive its meters. */
void rdmad_daemon_meters_add(const RdmadServices *services);
