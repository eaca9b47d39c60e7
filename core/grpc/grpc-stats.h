/* SPDX-License-Identifier: Apache-2.0 */
/* Stats of calls by method, status and duration, for the servers and the channels of a loop */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/stats.h>

typedef struct {
	RdmadStat *calls, *durations;
} RdmadGrpcStats;

RdmadGrpcStats rdmad_grpc_stats_of_servers(RdmadLoop *loop);
RdmadGrpcStats rdmad_grpc_stats_of_channels(RdmadLoop *loop);
/* Counts a completed call that started at `began_us` (monotonic). */
void rdmad_grpc_stats_count(const RdmadGrpcStats *stats, const char *method, RdmadGrpcStatus status,
			    gint64 began_us);
