/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation directory: the files about an allocation that its container can read
 *
 *	<run_dir>/allocations/<id>/<file>
 *
 * The directory is mounted at /run/rdmad in the container, read-only.  Files are changed by
 * replacing them, so the container sees new text at once and never a part of it.
 *
 * <run_dir>/allocations is opened for each operation, without following a symbolic link.
 * Everything below is accessed through that descriptor, so that nothing outside is ever written or
 * removed; only rdmad_spare_dirs_take() renames by the whole path.  A <run_dir> that was removed is
 * made again by the next allocation.  An id is a file name that does not begin with ".".
 *
 * No write is synced, because no container outlives the boot: the writer of a file compares it with
 * what it should have at each start.
 *
 * Every function fails with RDMAD_ERROR_FAILED if the system returns an error, if the id is
 * invalid, or if <run_dir>/allocations is a symbolic link, is not a directory, or belongs to
 * another user.  Further codes are at the function.
 */
#pragma once

#include <rdmad/types.h>

/* Returns the path of the directory; g_free().  `run_dir` is rdmad_module_run_dir() in all
 * functions. */
RDMAD_API char *rdmad_allocation_dir_path(const char *run_dir, const char *id);

/* Makes the directory unless it exists. */
RDMAD_API gboolean rdmad_allocation_dir_make(const char *run_dir, const char *id, GError **error);
/* Returns whether `file` is a regular file with contents, which a power failure may have taken.
 * FALSE with an error: unknown. */
RDMAD_API gboolean rdmad_allocation_dir_has(const char *run_dir, const char *id, const char *file,
					    GError **error);
/* Returns the text of `file`; g_free().  RDMAD_ERROR_NOT_FOUND: no such directory or file;
 * RDMAD_ERROR_LIMIT: `file` is longer than `max` bytes. */
RDMAD_API char *rdmad_allocation_dir_read(const char *run_dir, const char *id, const char *file,
					  gsize max, GError **error);
/* Writes or replaces `file`.  RDMAD_ERROR_NOT_FOUND: no such directory, so the allocation has
 * ended. */
RDMAD_API gboolean rdmad_allocation_dir_write(const char *run_dir, const char *id, const char *file,
					      const char *text, GError **error);
/* Writes or replaces `file` as rdmad_allocation_dir_write() does. */
RDMAD_API gboolean rdmad_allocation_dir_write_bytes(const char *run_dir, const char *id,
						    const char *file, GBytes *bytes,
						    GError **error);
/* Removes the directory with its files; a missing directory is no error.  The directory is renamed
 * first: if the process is killed meanwhile, the rest is removed by rdmad_spare_dirs_new(). */
RDMAD_API gboolean rdmad_allocation_dir_remove(const char *run_dir, const char *id, GError **error);

/* Returns the ids of all directories; g_strfreev().  The list is empty if <run_dir>/allocations
 * does not exist. */
RDMAD_API char **rdmad_allocation_dir_list(const char *run_dir, GError **error);
/* Removes files whose write a killed process did not finish. */
RDMAD_API void rdmad_allocation_dir_clean(const char *run_dir, const char *id);

/*
 * Spare directories, made after responses, so that Allocate renames one:
 *
 *	<run_dir>/allocations/.spare-<random>/
 *
 * A spare directory lacks only its name and the text of one file.  Spare directories of an earlier
 * run are removed.
 */

/* Each directory has a file `name` with `text`, and an empty file `own_name`, which is written at
 * the take. */
typedef struct {
	const char *name, *text;
	const char *own_name;
} RdmadSpareDirsClass;

/* `klass` must outlive the spare directories. */
RDMAD_API RdmadSpareDirs *
rdmad_spare_dirs_new(RdmadLoop *loop, RdmadModule *owner, const char *run_dir,
		     const RdmadSpareDirsClass *klass) G_GNUC_WARN_UNUSED_RESULT;
/* Removes the spare directories.  Does nothing if `spares` is NULL. */
RDMAD_API void rdmad_spare_dirs_free(RdmadSpareDirs *spares);
/* Writes `own_text` into a spare directory and makes it the directory of allocation `id`, which has
 * none yet.  Returns FALSE on failure: rdmad_allocation_dir_make() then reports the error. */
RDMAD_API gboolean rdmad_spare_dirs_take(RdmadSpareDirs *spares, const char *id,
					 const char *own_text);
