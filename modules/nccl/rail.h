/* SPDX-License-Identifier: Apache-2.0 */
/* Rails: the ports of the view, and whether NCCL should use each, or why not. */
#pragma once

#include "policy.h"
#include "view.h"

/* Why a port is excluded.  The names are those of the JSON and the metrics. */
typedef enum {
	NCCL_RAIL_SELECTED,
	NCCL_RAIL_NO_NIC,
	NCCL_RAIL_NOT_GRANTED,
	NCCL_RAIL_OTHER_PORT,
	NCCL_RAIL_FATAL,
	NCCL_RAIL_PORT_DOWN,
	NCCL_RAIL_IWARP,
	NCCL_RAIL_NO_VERBS,
	NCCL_RAIL_DATA_DIRECT,
	NCCL_RAIL_EXCLUDED,
	NCCL_RAIL_OTHER_LINK_LAYER,
	NCCL_RAIL_STORAGE,
	NCCL_RAIL_DEFAULT_ROUTE,
	NCCL_RAIL_FAR_FROM_GPU,
	NCCL_RAIL_SAME_GID,
	NCCL_RAIL_NO_GID,
	NCCL_RAIL_NOT_IN_SUBSET,
	NCCL_RAIL_REASONS,
} NcclRailReason;

/* Why a GID cannot be used. */
typedef enum {
	NCCL_GID_USABLE,
	NCCL_GID_NOT_V2,
	NCCL_GID_UNREADABLE_TYPE,
	NCCL_GID_NOT_UNICAST,
	NCCL_GID_LINK_LOCAL,
	NCCL_GID_FOREIGN,
	NCCL_GID_OTHER_FAMILY,
	NCCL_GID_OTHER_SUBNET,
	NCCL_GID_INDEX_TOO_LARGE,
} NcclGidReason;

typedef struct {
	const RdmadDevice *device; /* borrowed from the view */
	const RdmadPort *port;
	NcclRailReason reason;
	int gpu;		/* the nearest one, or -1 */
	RdmadDistance distance; /* to that GPU */
	const RdmadGid *gid;	/* the best one; NULL: none, or InfiniBand */
} NcclRail;

/* Returns a GArray of NcclRail: all ports, selected ones first, in the order of
 * rdmad_nics_compare(). g_array_unref() */
GArray *nccl_rails_choose(const NcclView *view, const NcclPolicy *policy);

NcclGidReason nccl_rail_judge_gid(const NcclView *view, const NcclPolicy *policy,
				  const RdmadGid *gid);

/* Return "port-down", and "the port is not active". */
const char *nccl_rail_reason_name(NcclRailReason reason);
const char *nccl_rail_reason_text(NcclRailReason reason);
const char *nccl_gid_reason_text(NcclGidReason reason);
