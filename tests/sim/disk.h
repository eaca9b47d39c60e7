/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk, and its state after a power failure
 *
 * Files are those of the tree (tree.h).  For each, the model keeps the durable contents and the
 * writes since the last fsync.  Names become durable separately: creating, renaming and removing
 * one needs an fsync of its directory.  Nothing below /run is durable.
 *
 * Sources: fsync(2), POSIX; SQLite's test6.c about unsynced writes.
 */
#pragma once

#include "decisions.h"
#include <sys/types.h>

typedef enum {
	DISK_WELL,
	DISK_FULL,	   /* ENOSPC */
	DISK_FAILS,	   /* EIO */
	DISK_READS_FAIL,   /* EIO, for open files and for files of the kernel */
	DISK_NO_MEMORY,	   /* ENOMEM for reads */
	DISK_NO_FILES,	   /* EMFILE */
	DISK_LOSES_A_SYNC, /* the next fsync fails once, and its data is never written */
	N_DISK_FAULTS,
} DiskFault;

typedef enum {
	DISK_LOST, /* all unsynced writes are lost */
	DISK_KEPT, /* all unsynced writes are kept */
	DISK_TORN, /* names up to one, some writes, and of one write its first sectors */
	N_DISK_OUTCOMES,
} DiskOutcome;

/* `root` must exist and be empty.  `run` is in memory: it has the same errors as the disk, but no
 * durable state. */
void disk_begin(const char *root, const char *run, Decisions *decisions);
void disk_end(void);
void disk_set_fault(DiskFault fault);
/* Replaces all files below the root by their durable state.  No file may be open. */
void disk_cut_power(DiskOutcome outcome);
/* Empties any directory, as a program outside the world does; it is not recorded as a write. */
void disk_empty_directory(const char *path);

/* ---- functions for calls.c; paths are absolute ---- */

/* Paths below neither directory need not be reported. */
/* Returns 0, or the errno with which the call fails. */
int disk_refuses(const char *path, gboolean is_sync);
/* Returns whether disk_refuses_read() may return an error. */
gboolean disk_reads_may_fail(void);
int disk_refuses_read(const char *path);
/* Returns 0 or EMFILE. */
int disk_refuses_open(void);
/* When one of these last refused something; 0: never. */
gint64 disk_failed_us(void);
/* Returns whether the last write was the head of a page in SQLite's log, without the page. */
gboolean disk_has_half_a_frame(void);
void disk_made(const char *path, gboolean is_dir);
void disk_renamed(const char *from, const char *to);
void disk_removed(const char *path);
/* The write concerns the file that has this name now. */
void disk_wrote(const char *path, const void *bytes, gsize size, off_t at);
void disk_truncated(const char *path, off_t size);
/* Call after an fsync, also after a failed one. */
void disk_synced(const char *path, gboolean lost);
