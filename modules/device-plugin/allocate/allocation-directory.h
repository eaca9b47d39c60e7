/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation directory: a container's view of its allocation
 *
 *	<run_dir>/allocations/<allocation id>/nccl.conf
 *	<run_dir>/allocations/<allocation id>/allocation.json
 *
 * It exists before kubelet gets the response, is mounted read-only at /run/rdmad in the container,
 * and is removed when the allocation ends.  See rdmad/allocation-dir.h for how it is written.
 *
 * allocation.json identifies the allocation: {"version": 1, "id", "resource", "slots", "devices",
 * "mode", "since_us", "pod_namespace", "pod_name", "container"}.  After the database was lost, an
 * allocation that is rebuilt from podresources gets its id from it.
 */
#pragma once

#include <rdmad/types.h>

#define ALLOCATION_DIRECTORY_MOUNT "/run/rdmad" /* in the container */
#define ALLOCATION_NCCL_CONF	   "nccl.conf"
#define ALLOCATION_NCCL_PLAN	   "plan.json" /* of module nccl, which then owns nccl.conf */

/* `run_dir` is rdmad_module_run_dir() in all functions. */

/* Creates the directory of a new allocation with its initial files, from `spares` if not NULL.
 * RDMAD_ERROR_FAILED. */
gboolean allocation_directory_begin(const char *run_dir, RdmadSpareDirs *spares,
				    const RdmadAllocation *allocation, GError **error);
/* Returns FALSE also if the directory cannot be read. */
gboolean allocation_directory_exists(const char *run_dir, const char *id);
/* Creates directories ahead of allocations; rdmad_spare_dirs_free(). */
RdmadSpareDirs *allocation_directory_spares(const char *run_dir, RdmadLoop *loop,
					    RdmadModule *owner) G_GNUC_WARN_UNUSED_RESULT;
/* Creates what is missing of the directory of an existing allocation, and writes what a power
 * failure has damaged.  RDMAD_ERROR_FAILED. */
gboolean allocation_directory_keep(const char *run_dir, const RdmadAllocation *allocation,
				   GError **error);
/* Writes allocation.json unless it is right.  RDMAD_ERROR_NOT_FOUND: there is no directory;
 * RDMAD_ERROR_FAILED. */
gboolean allocation_directory_describe(const char *run_dir, const RdmadAllocation *allocation,
				       GError **error);

/* The contents of allocation.json, checked like the database. */
typedef struct {
	char *id; /* the directory's name */
	/* NULL: allocation.json is missing or invalid; the following members are unset. */
	char *resource;
	char **slots;			/* sorted */
	char *pod_namespace, *pod_name; /* NULL: unknown */
	gint64 since_us;
	/* The allocation has ended: its directory could not be removed then, or kubelet listed
	 * it. */
	gboolean is_over, is_listed;
} AllocationNote;

void allocation_note_free(AllocationNote *note);
/* Never NULL. */
AllocationNote *allocation_note_read(const char *run_dir, const char *id);

/* Returns an AllocationNote for each directory whose allocation is not in the table; removes
 * unfinished files of the other directories. */
GPtrArray *allocation_directory_orphans(const char *run_dir, RdmadAllocations *allocations);
