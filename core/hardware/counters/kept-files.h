/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept files: files of one directory that stay open between readings
 *
 * Opening and closing a file of sysfs costs three times as much as reading its value.  A kept file
 * is read by pread(), for which the kernel regenerates the value, and which returns ENODEV after
 * the device was removed.  The directory is resolved by its path each time, so that no value is
 * read of a device that was renamed, or of an earlier device with this name.
 *
 * Files are kept only in sysfs and, for recorded machines, in memory, where each change of the
 * directory's entries changes its time.  Elsewhere they are opened each time.
 */
#pragma once

#include <rdmad/counters.h>

#include "hardware/sysroot.h"

typedef struct {
	char *path;
	int fd; /* the directory while it is read; or -1 */
	guint64 device, inode;
	gint64 changed_us;
	gboolean sysfs, memory; /* the type of filesystem; neither: files are not kept */
	gboolean keeps;		/* files are kept in this round */
	RdmadFileBudget *budget;
	int *files; /* -1: not open; NULL: no file is open */
	guint n_files;
} RdmadKeptFiles;

/* Takes `path` over. */
void rdmad_kept_files_init(RdmadKeptFiles *kept, char *path);
void rdmad_kept_files_clear(RdmadKeptFiles *kept);

/* Call before each round of reads.  Returns 0 or an errno, after which nothing is kept.  Sets
 * `same` (may be NULL) to whether the directory and its entries are those of the last round.
 * `budget` may be NULL. */
int rdmad_kept_files_begin(RdmadKeptFiles *kept, const RdmadSysroot *root, RdmadFileBudget *budget,
			   gboolean *same);
/* Sets the number of files and closes the kept ones. */
void rdmad_kept_files_expect(RdmadKeptFiles *kept, guint n);
/* Reads like rdmad_sysroot_read_at(); `i` is the index of the file, which always has the same
 * `name`. */
gssize rdmad_kept_files_read(RdmadKeptFiles *kept, const RdmadSysroot *root, guint i,
			     const char *name, char *text, gsize size);
void rdmad_kept_files_end(RdmadKeptFiles *kept);

/* Reserves one more open file.  Returns FALSE if the budget is used up. */
gboolean rdmad_file_budget_take(RdmadFileBudget *budget);
void rdmad_file_budget_give(RdmadFileBudget *budget);
/* Returns whether the budget was reduced below the number of open files. */
gboolean rdmad_file_budget_is_exceeded(const RdmadFileBudget *budget);
