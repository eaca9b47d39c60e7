/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk, and what a power failure leaves of it
 *
 * Files are those of the tree (tree.h); beside each the model keeps what is durable and what was written since
 * the last fsync.  Names are durable apart from contents: making, renaming and removing one waits for the fsync of
 * its directory.  Below /run nothing is durable.
 *
 * Sources: fsync(2), POSIX; SQLite's test6.c for what happens to writes that were not synced.
 */
#pragma once

#include "decisions.h"
#include <sys/types.h>

typedef enum {
	DISK_WELL,
	DISK_FULL,	   /* ENOSPC */
	DISK_FAILS,	   /* EIO */
	DISK_READS_FAIL,   /* EIO, of files that are open and of those of the kernel */
	DISK_NO_MEMORY,	   /* ENOMEM of reads */
	DISK_NO_FILES,	   /* EMFILE: none can be opened */
	DISK_LOSES_A_SYNC, /* the next fsync fails, once, and what it was for is never written */
	N_DISK_FAULTS,
} DiskFault;

typedef enum {
	DISK_LOST, /* nothing that was not synced */
	DISK_KEPT, /* all of it */
	DISK_TORN, /* some: names up to one, writes here and there, of one write the first sectors */
	N_DISK_OUTCOMES,
} DiskOutcome;

/* `root` exists and is empty; `run` is in memory, and has no more than errors in common with a disk. */
void disk_begin(const char *root, const char *run, Decisions *decisions);
void disk_end(void);
void disk_set_fault(DiskFault fault);
/* All files below the root become what the disk holds.  Nobody has one open. */
void disk_cut_power(DiskOutcome outcome);
/* By nobody who has a part in the world: a directory of any place, and nothing is told of it. */
void disk_empty_directory(const char *path);

/* ---- from the calls (calls.c); paths are absolute ---- */

/* Below neither of the two, nothing is to be told. */
/* 0, or the errno that the call fails with. */
int disk_refuses(const char *path, gboolean is_sync);
/* Whether it is worth to ask. */
gboolean disk_reads_may_fail(void);
int disk_refuses_read(const char *path);
/* 0, or EMFILE. */
int disk_refuses_open(void);
/* When one of the two last refused something; 0: never. */
gint64 disk_reading_failed_us(void);
void disk_made(const char *path, gboolean is_dir);
void disk_renamed(const char *from, const char *to);
void disk_removed(const char *path);
/* Of the file that has this name now. */
void disk_wrote(const char *path, const void *bytes, gsize size, off_t at);
void disk_truncated(const char *path, off_t size);
/* After it, or when it has failed. */
void disk_synced(const char *path, gboolean lost);
