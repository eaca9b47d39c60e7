/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of one network namespace
 *
 * An RDMA device that namespaces share shows the GIDs of all of them, with interfaces of the same
 * name.  Only the address tells which namespace a GID belongs to.
 */
#pragma once

#include <rdmad/types.h>

typedef struct NcclAddresses NcclAddresses;

NcclAddresses *nccl_addresses_new(void);
/* References are for one thread. */
NcclAddresses *nccl_addresses_ref(NcclAddresses *addresses);
/* Drops a reference. */
void nccl_addresses_free(NcclAddresses *addresses);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclAddresses, nccl_addresses_free)

/* Adds "192.0.2.7/24" or "2001:db8::7/64"; the prefix length is optional.  Shared addresses are
 * replaced by a copy.  RDMAD_ERROR_INVALID. */
gboolean nccl_addresses_add(NcclAddresses **addresses, const char *text, GError **error);
gboolean nccl_addresses_have(const NcclAddresses *addresses, const guint8 raw[16]);
guint nccl_addresses_count(const NcclAddresses *addresses);
gboolean nccl_addresses_equal(const NcclAddresses *a, const NcclAddresses *b);

/*
 * Reads the addresses of a process's namespace from its /proc/PID/net; `process` is "self" or a
 * PID.
 * Formats: net/ipv4/fib_trie.c fib_trie_seq_show(), net/ipv6/addrconf.c if6_seq_show().
 * RDMAD_ERROR_NOT_FOUND: no such process, or a recorded machine without these files;
 * RDMAD_ERROR_INVALID: more than 16384 addresses, which a pod with CAP_NET_ADMIN can add, or an
 * overlong file.
 */
NcclAddresses *nccl_addresses_read(const RdmadSysroot *root, const char *process, GError **error);

/* Returns the interfaces of the default routes, without duplicates: those of IPv4 first, then the
 * lowest metric first; at most 64; g_strfreev().  A missing file has none.  Returns NULL if a file
 * cannot be read, or is overlong. */
char **nccl_default_netdevs_read(const RdmadSysroot *root, const char *process, GError **error);
