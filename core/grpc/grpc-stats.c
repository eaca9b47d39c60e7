/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/grpc-stats.h"

#include <rdmad/clock.h>

#include "base/loop.h"

#define BOUNDS                                                                                     \
	(const double[])                                                                           \
	{                                                                                          \
		0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,  \
			30, 0                                                                      \
	}

static const RdmadStatClass server_calls = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_grpc_calls",
	.help = "Completed gRPC calls that rdmad served",
	.labels = { "method", "code" },
};

static const RdmadStatClass server_durations = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_grpc_call_duration_seconds",
	.unit = "seconds",
	.help = "Duration of a gRPC call that rdmad served, from its first byte to its response",
	.labels = { "method" },
	.bounds = BOUNDS,
};

static const RdmadStatClass client_calls = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_grpc_client_calls",
	.help = "Completed gRPC calls that rdmad made",
	.labels = { "method", "code" },
};

static const RdmadStatClass client_durations = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_grpc_client_call_duration_seconds",
	.unit = "seconds",
	.help = "Duration of a gRPC call that rdmad made",
	.labels = { "method" },
	.bounds = BOUNDS,
};

RdmadGrpcStats rdmad_grpc_stats_of_servers(RdmadLoop *loop)
{
	return (RdmadGrpcStats){ rdmad_loop_stat(loop, &server_calls),
				 rdmad_loop_stat(loop, &server_durations) };
}

RdmadGrpcStats rdmad_grpc_stats_of_channels(RdmadLoop *loop)
{
	return (RdmadGrpcStats){ rdmad_loop_stat(loop, &client_calls),
				 rdmad_loop_stat(loop, &client_durations) };
}

void rdmad_grpc_stats_count(const RdmadGrpcStats *stats, const char *method, RdmadGrpcStatus status,
			    gint64 began_us)
{
	const char *const labels[] = { method, rdmad_grpc_status_name(status), NULL };
	const gint64 took_us = rdmad_now_us() - began_us;

	rdmad_stat_add(stats->calls, 1, labels);
	rdmad_stat_observe(stats->durations, (double)took_us / G_USEC_PER_SEC,
			   (const char *const[]){ method, NULL });
}
