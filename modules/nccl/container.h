/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container: all allocations of one container, and their plan
 *
 * kubelet keeps one of two mounts on the same path, so the directory of each allocation holds the
 * plan for all of them.  An allocation whose container is unknown is treated as a container of its
 * own.
 */
#pragma once

#include <rdmad/allocations.h>

#include "look.h"
#include "plan.h"
#include "settings.h"

typedef struct {
	GPtrArray *allocations; /* RdmadAllocation, by id */
	/* The network of its pod; NULL: the pod is unknown, or `network` is "host". */
	NcclLook *look;
	NcclView *view;	  /* NULL until the first update */
	NcclPlan *plan;	  /* points into the view */
	gboolean started; /* its first process may have started */
	/* Of the plan when the container started, or else of the first plan that was not a refusal:
	 * the settings that the job may have read. */
	NcclEnv *first;
	guint64 generation; /* generation of the newest plan on the disk */
	gboolean unwritten; /* a write failed; the next update retries it */
	char *problem;	    /* why; NULL: the directory of an allocation is missing */
} NcclContainer;

/* Returns the key of an allocation's container: "namespace/pod/container", or the allocation's
 * id. */
char *nccl_container_key(const RdmadAllocation *allocation);

NcclContainer *nccl_container_new(void);
void nccl_container_free(NcclContainer *container);

/* Returns the first allocation if its pod is known, else NULL. */
const RdmadAllocation *nccl_container_named(const NcclContainer *container);

/* Records a start or restart of the container, which reads the current plan. */
void nccl_container_start(NcclContainer *container);

/* Result of an update. */
typedef enum {
	NCCL_CONTAINER_SAME,	/* the settings on the disk are current */
	NCCL_CONTAINER_NEW,	/* the first plan of the container was written */
	NCCL_CONTAINER_CHANGED, /* its settings were replaced */
} NcclContainerResult;

/*
 * Makes a new view, plans again if it changed, and writes the files that differ from those on the
 * disk.  A missing directory and write errors set `unwritten`.
 */
NcclContainerResult nccl_container_update(NcclContainer *container, RdmadAllocations *table,
					  RdmadInventory *inventory, const NcclSettings *settings,
					  const char *run_dir);

/* Returns the differences, "NCCL_IB_GID_INDEX 3, was 5"; g_free(). */
char *nccl_container_difference(const NcclEnv *before, const NcclEnv *now);

/* A plan on the disk, written by an earlier update or an earlier rdmad. */
typedef struct {
	guint64 generation; /* 0: no plan */
	gboolean refused;
	NcclEnv *env; /* never NULL */
} NcclDiskPlan;

NcclDiskPlan *nccl_disk_plan_read(const char *run_dir, const char *allocation);
void nccl_disk_plan_free(NcclDiskPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclDiskPlan, nccl_disk_plan_free)
