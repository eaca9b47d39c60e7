/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container: all allocations of one container, and the plan for them
 *
 * Kubelet keeps one of two mounts on one path, so the directory of each of its allocations holds the
 * plan of all.  An allocation whose container is not known yet is taken for a container of its own.
 */
#pragma once

#include <rdmad/allocations.h>

#include "look.h"
#include "plan.h"
#include "settings.h"

typedef struct {
	GPtrArray *allocations; /* RdmadAllocation, by id */
	NcclLook *
		look; /* at the network of its pod; NULL: the pod is not known, or the host's is configured */
	NcclView *view;	  /* NULL until the first update */
	NcclPlan *plan;	  /* points into the view */
	gboolean started; /* its first process may have begun */
	NcclEnv *
		first; /* of the plan at its start, or of the first one after it that was not a refusal: what the
			   * job may have read */
	guint64 generation; /* of the newest plan on the disk */
	gboolean unwritten; /* a file could not be written: the next update tries again */
} NcclContainer;

/* The key of an allocation's container: "namespace/pod/container", or its id. */
char *nccl_container_key(const RdmadAllocation *allocation);

NcclContainer *nccl_container_new(void);
void nccl_container_free(NcclContainer *container);

/* The oldest allocation's; NULL where the container is not known. */
const RdmadAllocation *nccl_container_named(const NcclContainer *container);

/* Its first process begins now, perhaps again: it reads the present plan. */
void nccl_container_start(NcclContainer *container);

/* Result of an update. */
typedef enum {
	NCCL_CONTAINER_SAME,	/* the settings on the disk are those of the view */
	NCCL_CONTAINER_NEW,	/* the first plan of the container was written */
	NCCL_CONTAINER_CHANGED, /* its settings were replaced */
} NcclContainerNews;

/*
 * Looks at the inventory, plans again where that or the allocations differ from the last time, and writes
 * the files where they differ from those on the disk.  Directories that are gone are left alone:
 * the allocation has ended.  For other files that cannot be written see `unwritten`.
 */
NcclContainerNews nccl_container_update(NcclContainer *container, RdmadInventory *inventory,
					const NcclSettings *settings, const char *run_dir);

/* The differences, "NCCL_IB_GID_INDEX 3, was 5"; freed by the caller. */
char *nccl_container_difference(const NcclEnv *before, const NcclEnv *now);

/* A plan as an earlier update, or an earlier run, left it. */
typedef struct {
	guint64 generation; /* 0: there is none */
	gboolean refused;
	NcclEnv *env; /* never NULL */
} NcclDiskPlan;

NcclDiskPlan *nccl_disk_plan_read(const char *run_dir, const char *allocation);
void nccl_disk_plan_free(NcclDiskPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclDiskPlan, nccl_disk_plan_free)
