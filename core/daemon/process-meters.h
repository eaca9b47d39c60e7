/* SPDX-License-Identifier: Apache-2.0 */
/* The families named process_*, as every Prometheus client library has them. */
#pragma once

#include <rdmad/meters.h>

/* `started_us`: wall clock. */
void rdmad_process_meters_add(RdmadMeters *meters, const gint64 *started_us);
