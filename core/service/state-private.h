/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files named state*.c, the only ones that include SQLite. */
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include "service/state.h"

typedef enum {
	STATE_BEGIN,
	STATE_COMMIT,
	STATE_LOAD_ALLOCATIONS,
	STATE_LOAD_ATTACHMENTS,
	STATE_INSERT_ALLOCATION,
	STATE_UPDATE_ALLOCATION,
	STATE_DELETE_ALLOCATION,
	STATE_DELETE_ALL,
	STATE_INSERT_ATTACHMENT,
	STATE_DELETE_ATTACHMENTS,
	STATE_N_STATEMENTS,
} RdmadStatement;

typedef struct {
	dev_t device;
	ino_t inode; /* 0: there is no file */
} RdmadStateFile;

struct RdmadState {
	char *path;	      /* ":memory:" for a rehearsal */
	sqlite3 *db;	      /* NULL: closed, until rdmad_state_reopen() succeeds */
	gboolean is_broken;   /* the handle rejects writes, which another one may accept */
	gboolean is_single;   /* the transaction is one statement, without BEGIN and COMMIT */
	gboolean may_be_lost; /* the next commit need not survive a power failure */
	/* PRAGMA synchronous = NORMAL: commits do not wait for the disk. */
	gboolean synchronous_normal;
	/* An fsync of the log failed, so the kernel may have dropped unsynced pages. */
	gboolean log_needs_rewrite;
	RdmadStateFile file, wal; /* the open files */
	RdmadStateKeeper keeper;
	gpointer keeper_data;
	sqlite3_stmt *statements[STATE_N_STATEMENTS];
	GQueue tables; /* RdmadTables, linked by their own nodes */
	RdmadStateRestore restore;
	gpointer restore_data;
	RdmadEvent *quiet; /* timer: checkpoint the log; NULL: no loop */
};

/* Sets RDMAD_ERROR_FAILED with SQLite's message and returns FALSE. */
gboolean rdmad_state_error(RdmadState *state, const char *what, GError **error);

/* The same before the database is in use: RDMAD_ERROR_INVALID if it is damaged.  Only
 * SQLITE_CORRUPT, SQLITE_NOTADB and a foreign schema or header mean damage; a system error never
 * does. */
gboolean rdmad_state_setup_error(RdmadState *state, int code, GError **error);

/* Sets pragmas, checks schema and integrity, and prepares statements, after the file was opened.
 * RDMAD_ERROR_INVALID: damaged; RDMAD_ERROR_ABI: written by a newer rdmad; RDMAD_ERROR_FAILED. */
gboolean rdmad_state_set_up(RdmadState *state, GError **error);

gboolean rdmad_state_prepare(RdmadState *state, GError **error);
/* Returns whether the tables differ from those of this rdmad and of earlier versions. */
gboolean rdmad_state_schema_differs(RdmadState *state);

/* Finalizes the statements of modules' tables, before the handle is closed. */
void rdmad_state_tables_forget(RdmadState *state);

/* Called by SQLite after a commit. */
int rdmad_state_logged(void *state, sqlite3 *db, const char *name, int pages);

#define RDMAD_STATE_FILE "rdmad.db" /* below the state directory */

/* state-file.c */

/* Makes `path` a regular file of mode 0600; sets a file that cannot be a database aside.
 * RDMAD_ERROR_CONFIG: a symbolic link, which was made on purpose; RDMAD_ERROR_FAILED. */
gboolean rdmad_state_file_prepare(const char *path, char **set_aside, GError **error);
/* Moves the database with its -wal and -shm to <path>.<how>-<time>, returned in `set_aside`. */
gboolean rdmad_state_file_set_aside(const char *path, const char *how, char **set_aside,
				    GError **error);
/* Returns FALSE if the file cannot be examined.  A missing file is not an error. */
gboolean rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
				   GError **error);
gboolean rdmad_state_file_equal(const RdmadStateFile *a, const RdmadStateFile *b);
/* Rewrites all bytes of the -wal file, and syncs it.  Succeeds if there is no such file.
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_state_file_rewrite_log(const char *path, GError **error);
/* Reads the user_version from the header of a database that another process may have open.  Returns
 * FALSE if it is unknown. */
gboolean rdmad_state_file_read_version(const char *path, guint *version);
/* Returns whether the header makes the database read-only, which rdmad never does. */
gboolean rdmad_state_file_forbids_writing(const char *path);
