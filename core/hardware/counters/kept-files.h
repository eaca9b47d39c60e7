/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept files: files of one directory that stay open between readings
 *
 * Opening and closing a file of sysfs costs three times what its value does.  A kept file is read by
 * pread(), for which the kernel makes the value again, and returns ENODEV once its device has left.  The
 * directory is looked up by its path each time, so that nothing is read of a device that has another
 * name by now, or of an earlier one of the same name.
 *
 * Only where a kept file tells the truth: in sysfs, and on recorded machines in memory, where each
 * change of the directory's entries changes its time.  Elsewhere files are opened each time.
 */
#pragma once

#include <rdmad/counters.h>

#include "hardware/sysroot.h"

typedef struct {
	char *path;
	int fd; /* the directory while it is being read, and needed; or -1 */
	guint64 device, inode;
	gint64 changed_us;
	gboolean sysfs, memory; /* where it is; neither: nothing is kept */
	gboolean keeps;		/* this time */
	RdmadFileBudget *budget;
	int *files; /* -1: not open; NULL: none is */
	guint n_files;
} RdmadKeptFiles;

/* Takes `path` over. */
void rdmad_kept_files_init(RdmadKeptFiles *kept, char *path);
void rdmad_kept_files_clear(RdmadKeptFiles *kept);

/* Before each round of reads: 0, or errno, and then nothing is kept.  `same` (may be NULL): TRUE if the
 * directory is that of the last round, with the same entries.  `budget` may be NULL. */
int rdmad_kept_files_begin(RdmadKeptFiles *kept, const RdmadSysroot *root, RdmadFileBudget *budget,
			   gboolean *same);
/* The number of files; those that were kept are closed. */
void rdmad_kept_files_expect(RdmadKeptFiles *kept, guint n);
/* As rdmad_sysroot_read_at(); `i` is the place of the file, which is always called `name`. */
gssize rdmad_kept_files_read(RdmadKeptFiles *kept, const RdmadSysroot *root, guint i,
			     const char *name, char *text, gsize size);
void rdmad_kept_files_end(RdmadKeptFiles *kept);

/* Of the budget: a place for one more file; FALSE: there is none. */
gboolean rdmad_file_budget_take(RdmadFileBudget *budget);
void rdmad_file_budget_give(RdmadFileBudget *budget);
/* It was made smaller than what is open. */
gboolean rdmad_file_budget_is_exceeded(const RdmadFileBudget *budget);
