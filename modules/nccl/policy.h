/* SPDX-License-Identifier: Apache-2.0 */
/* Policy: the administrator's choice among several right settings. */
#pragma once

#include <rdmad/device.h>

#define NCCL_UNSET (-1)

typedef enum { NCCL_LINK_AUTO, NCCL_LINK_INFINIBAND, NCCL_LINK_ROCE } NcclLinkWish;
typedef enum { NCCL_FAMILY_AUTO, NCCL_FAMILY_IPV4, NCCL_FAMILY_IPV6 } NcclFamilyWish;
/* How GIDs are selected: by one index for all ports, or by a range of addresses. */
typedef enum { NCCL_BY_AUTO, NCCL_BY_INDEX, NCCL_BY_ADDRESS } NcclByWish;
/* The bits of `siblings`. */
typedef enum {
	NCCL_SIBLING_UCX = 1 << 0,
	NCCL_SIBLING_NVSHMEM = 1 << 1,
	NCCL_SIBLING_LIBFABRIC = 1 << 2,
	NCCL_SIBLING_OPENMPI = 1 << 3,
} NcclSiblings;

typedef struct {
	NcclLinkWish link_layer;
	NcclFamilyWish family;
	NcclByWish by;
	gboolean allow_link_local, allow_subset;
	char **devices;		    /* patterns, a leading "!" excludes; NULL: all */
	GArray *subnets;	    /* of NcclRange: use GIDs in these only; NULL or empty: all */
	GArray *storage_subnets;    /* of NcclRange: exclude ports with a GID in these */
	gboolean use_default_route; /* include ports whose interface has the default route */
	RdmadDistance gpu_distance; /* the maximum, if a port is that near */
	char *socket_ifname;	    /* "auto", "" for none, or a value of NCCL_SOCKET_IFNAME */
	/* Values of NCCL's variables, or NCCL_UNSET. */
	int tc, sl, pkey, qps_per_connection, cross_nic;
	char *net_gdr_level; /* NULL: unset */
	char *topo_file;     /* path in the container; NULL: none */
	char *env_plugin;    /* path in the container; NULL: none */
	NcclSiblings siblings;
} NcclPolicy;

/* Sets the defaults. */
void nccl_policy_init(NcclPolicy *policy);
/* Frees the members. */
void nccl_policy_clear(NcclPolicy *policy);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(NcclPolicy, nccl_policy_clear)

/* Parses texts (may be NULL) into a GArray of NcclRange.  NULL: RDMAD_ERROR_INVALID. */
GArray *nccl_policy_ranges(char *const *texts, GError **error);
gboolean nccl_policy_ranges_have(const GArray *ranges, const guint8 raw[16]);
