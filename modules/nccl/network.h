/* SPDX-License-Identifier: Apache-2.0 */
/* Network: the interfaces of one network namespace, as a plan needs them. */
#pragma once

#include "addresses.h"

typedef struct {
	NcclAddresses *addresses;
	char **default_netdevs; /* never NULL */
} NcclNetwork;

/* Of a process, from its /proc/PID/net; errors as nccl_addresses_read().  For a worker. */
NcclNetwork *nccl_network_read(const RdmadSysroot *root, const char *process, GError **error);
/*
 * Of the namespace at `path`, for a worker: a thread enters it, but for "/proc/PID/ns/net".
 * Errors as rdmad_netns_open(), rdmad_netns_call() and nccl_addresses_read().
 */
NcclNetwork *nccl_network_read_netns(const RdmadSysroot *root, const char *path, GError **error);
/* Both members may have been taken away. */
void nccl_network_free(NcclNetwork *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclNetwork, nccl_network_free)
