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
	STATE_FIND_ALLOCATION,
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
	char *path;	      /* ":memory:" for a try */
	sqlite3 *db;	      /* NULL: closed, until rdmad_state_reopen() succeeds */
	gboolean is_broken;   /* the handle does not take writes; another one may */
	gboolean may_be_lost; /* what is written next, by a power cut */
	gboolean is_hasty;    /* the handle does not wait for the disk */
	/* An fsync of the log failed: the kernel may have dropped what nobody waited for. */
	gboolean log_is_torn;
	RdmadStateFile file, wal; /* what is open */
	RdmadStateKeeper keeper;
	gpointer keeper_data;
	sqlite3_stmt *statements[STATE_N_STATEMENTS];
	GQueue tables; /* RdmadTables, linked by their own nodes */
	RdmadStateHome home;
	gpointer home_data;
	RdmadEvent *quiet; /* timer: the log is to be copied; NULL: there is no loop */
};

/* Sets RDMAD_ERROR_FAILED with SQLite's message; always FALSE. */
gboolean rdmad_state_error(RdmadState *state, const char *what, GError **error);

/* The same for errors before the database is in use: RDMAD_ERROR_INVALID if it is damaged.  Only
 * SQLITE_CORRUPT and SQLITE_NOTADB mean damage, and a foreign schema or header; an error of the
 * system never does. */
gboolean rdmad_state_setup_error(RdmadState *state, int code, GError **error);

/* Pragmas, schema, integrity, prepared statements: all that comes after opening the file.
 * RDMAD_ERROR_INVALID: damaged; RDMAD_ERROR_ABI: written by a newer rdmad; RDMAD_ERROR_FAILED. */
gboolean rdmad_state_set_up(RdmadState *state, GError **error);

gboolean rdmad_state_prepare(RdmadState *state, GError **error);
/* Whether the tables are others than this or an earlier rdmad made. */
gboolean rdmad_state_schema_differs(RdmadState *state);

/* Finalizes the statements of modules' tables, before the handle is closed. */
void rdmad_state_tables_forget(RdmadState *state);

/* Called by SQLite after a commit. */
int rdmad_state_logged(void *state, sqlite3 *db, const char *name, int pages);

#define RDMAD_STATE_FILE "rdmad.db" /* below the state directory */

/* state-file.c */

/* Makes `path` a regular file of mode 0600; a file that cannot be a database is set aside.
 * RDMAD_ERROR_FAILED, also for a symbolic link, which was made on purpose. */
gboolean rdmad_state_file_prepare(const char *path, char **set_aside, GError **error);
/* Moves the database and its -wal and -shm to <path>.<how>-<time>, given back in `set_aside`. */
gboolean rdmad_state_file_set_aside(const char *path, const char *how, char **set_aside,
				    GError **error);
/* FALSE: unknown.  A missing file is not an error. */
gboolean rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
				   GError **error);
gboolean rdmad_state_file_equal(const RdmadStateFile *a, const RdmadStateFile *b);
/* Writes each byte of the -wal file again, and waits for the disk.  Succeeds if there is no such file.
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_state_file_rewrite_log(const char *path, GError **error);
/* Reads the user_version from the header of a database that another process may have open.  FALSE: unknown. */
gboolean rdmad_state_file_read_version(const char *path, guint *version);
/* Whether the header of a database makes it read-only, as none of ours is. */
gboolean rdmad_state_file_forbids_writing(const char *path);
