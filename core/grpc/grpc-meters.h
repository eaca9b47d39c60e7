/* SPDX-License-Identifier: Apache-2.0 */
/* What calls are counted by: method, status and time, for the servers and for the channels of a loop. */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/meters.h>

typedef struct {
	RdmadMeter *calls, *durations;
} RdmadGrpcMeters;

RdmadGrpcMeters rdmad_grpc_meters_of_servers(RdmadLoop *loop);
RdmadGrpcMeters rdmad_grpc_meters_of_channels(RdmadLoop *loop);
/* A call is over that began at `began_us` (monotonic). */
void rdmad_grpc_meters_count(const RdmadGrpcMeters *meters, const char *method,
			     RdmadGrpcStatus status, gint64 began_us);
