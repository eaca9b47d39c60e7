/* SPDX-License-Identifier: Apache-2.0 */
/* Network: the addresses and default interfaces of one network namespace. */
#pragma once

#include "addresses.h"

typedef struct {
	NcclAddresses *addresses;
	char **default_netdevs; /* never NULL */
} NcclNetwork;

/* Reads the network of a process from its /proc/PID/net, on a worker; errors as
 * nccl_addresses_read(). */
NcclNetwork *nccl_network_read(const RdmadSysroot *root, const char *process, GError **error);
/*
 * Reads the namespace at `path`, "/proc/PID/ns/net", on a worker.  RDMAD_ERROR_INVALID: another
 * path, because rdmad enters no namespace; errors as nccl_addresses_read().
 */
NcclNetwork *nccl_network_read_netns(const RdmadSysroot *root, const char *path, GError **error);
/* Both members may be NULL. */
void nccl_network_free(NcclNetwork *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclNetwork, nccl_network_free)
