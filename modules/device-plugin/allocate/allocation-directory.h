/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation directory: what a container can read about its allocation
 *
 *	<run_dir>/allocations/<allocation id>/nccl.conf
 *	<run_dir>/allocations/<allocation id>/allocation.json
 *
 * It is there before kubelet hears of the allocation, is seen as /run/rdmad, read-only, in the container,
 * and goes when the allocation ends.  See rdmad/allocation-dir.h for how it is written.
 *
 * allocation.json says whose directory it is: {"version": 1, "id", "resource", "slots", "devices", "mode",
 * "since_us", "pod_namespace", "pod_name", "container"}.  When the database was lost, the allocation that
 * is learnt from kubelet gets its id back by it.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ALLOCATION_DIRECTORY_MOUNT "/run/rdmad" /* in the container */
#define RDMAD_ALLOCATION_NCCL_CONF	 "nccl.conf"
#define RDMAD_ALLOCATION_NCCL_PLAN	 "plan.json" /* of module nccl, whose nccl.conf is then */

/* `run_dir` is rdmad_module_run_dir() in all of these. */

/* For a new holder: the directory with its files as they are at first.  RDMAD_ERROR_FAILED. */
gboolean rdmad_allocation_directory_begin(const char *run_dir, const RdmadAllocation *allocation,
					  GError **error);
/* The same for a holder that may be there already: what is missing.  RDMAD_ERROR_FAILED. */
gboolean rdmad_allocation_directory_keep(const char *run_dir, const RdmadAllocation *allocation,
					 GError **error);
/* Writes allocation.json again.  RDMAD_ERROR_NOT_FOUND: there is no directory; RDMAD_ERROR_FAILED. */
gboolean rdmad_allocation_directory_describe(const char *run_dir, const RdmadAllocation *allocation,
					     GError **error);

/* What allocation.json says of a directory; it is checked as the database is. */
typedef struct {
	char *id;	/* the directory's name */
	char *resource; /* NULL: allocation.json is missing or wrong, and what follows is unset */
	char **slots;	/* sorted */
	char *pod_namespace, *pod_name; /* NULL: not known */
	gint64 since_us;
} RdmadAllocationNote;

void rdmad_allocation_note_free(RdmadAllocationNote *note);

/* RdmadAllocationNote of each directory whose allocation is not in the table; removes unfinished files of the
 * others. */
GPtrArray *rdmad_allocation_directory_orphans(const char *run_dir, RdmadAllocations *allocations);
