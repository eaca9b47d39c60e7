/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation directory: what a container can read about its allocation
 *
 *	<run_dir>/allocations/<id>/<file>
 *
 * The container sees it as /run/rdmad, read-only.  Files change by being replaced, so the container
 * sees new text at once and never a part of it.
 *
 * <run_dir>/allocations is opened for each operation, without following a symbolic link, and
 * everything below is reached from that descriptor: nothing outside is ever written or removed, and
 * a <run_dir> that was removed is made again by the next allocation.  An id is a file name without
 * "/".
 *
 * Every function returns RDMAD_ERROR_FAILED for what the system refused, and for a
 * <run_dir>/allocations that is a symbolic link, no directory, or belongs to others; further codes
 * are at the function.
 */
#pragma once

#include <rdmad/types.h>

/* `run_dir` is rdmad_module_run_dir() in all of these. */
RDMAD_API char *rdmad_allocation_dir_path(const char *run_dir, const char *id);

/* Makes the directory where it is missing. */
RDMAD_API gboolean rdmad_allocation_dir_make(const char *run_dir, const char *id, GError **error);
/* Whether `file` exists.  FALSE with an error: unknown. */
RDMAD_API gboolean rdmad_allocation_dir_has(const char *run_dir, const char *id, const char *file,
					    GError **error);
/* The text of `file`, g_free().  RDMAD_ERROR_NOT_FOUND: no such directory or file;
 * RDMAD_ERROR_LIMIT: longer than `max` bytes. */
RDMAD_API char *rdmad_allocation_dir_read(const char *run_dir, const char *id, const char *file,
					  gsize max, GError **error);
/* Writes or replaces `file`.  RDMAD_ERROR_NOT_FOUND: there is no directory, so the allocation has
 * ended. */
RDMAD_API gboolean rdmad_allocation_dir_write(const char *run_dir, const char *id, const char *file,
					      const char *text, GError **error);
/* The same of bytes that are not text. */
RDMAD_API gboolean rdmad_allocation_dir_write_bytes(const char *run_dir, const char *id,
						    const char *file, GBytes *bytes,
						    GError **error);
/* Removes the directory with its files.  None there is no error.  Of one that a killed process was about to remove a
 * part stays, without the name of the allocation, until rdmad_spare_dirs_new(). */
RDMAD_API gboolean rdmad_allocation_dir_remove(const char *run_dir, const char *id, GError **error);

/* The names of all directories of allocations, g_strfreev(); empty where there is no
 * <run_dir>/allocations.  NULL: they cannot be listed. */
RDMAD_API char **rdmad_allocation_dir_list(const char *run_dir, GError **error);
/* Removes the files that a killed process had not finished. */
RDMAD_API void rdmad_allocation_dir_clean(const char *run_dir, const char *id);

/*
 * Spare directories, made between the answers, so that Allocate renames one:
 *
 *	<run_dir>/allocations/.spare-<random>/
 *
 * One is complete but for its name and one text.  Those of an earlier run are removed.
 */

/* Each has a file `name` with `text`, and a file `own_name` whose text comes with the id. */
typedef struct {
	const char *name, *text;
	const char *own_name;
} RdmadSpareDirsClass;

RDMAD_API RdmadSpareDirs *
rdmad_spare_dirs_new(RdmadLoop *loop, RdmadModule *owner, const char *run_dir,
		     const RdmadSpareDirsClass *klass) G_GNUC_WARN_UNUSED_RESULT;
/* Removes them.  NULL is fine. */
RDMAD_API void rdmad_spare_dirs_free(RdmadSpareDirs *spares);
/* One becomes the directory of allocation `id`, which has none.  FALSE: make it in the usual way, which
 * says what is wrong. */
RDMAD_API gboolean rdmad_spare_dirs_take(RdmadSpareDirs *spares, const char *id,
					 const char *own_text);
