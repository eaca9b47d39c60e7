/* SPDX-License-Identifier: Apache-2.0 */
/* The families named process_*, as every Prometheus client library has them. */
#pragma once

#include <rdmad/stats.h>

/* `started_us`: wall clock. */
void rdmad_process_stats_add(RdmadStats *stats, const gint64 *started_us);
