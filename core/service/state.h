/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State: the SQLite database <state-dir>/rdmad.db (WAL, synchronous=FULL)
 *
 * Only state.c and state-*.c include SQLite.  A damaged database is set aside as
 * rdmad.db.damaged-<time>, and an empty one is created; a database with a newer schema is
 * RDMAD_ERROR_ABI.
 *
 * The database is locked exclusively: it has no -shm file, no further lock is taken, and no other
 * process can read it.
 */
#pragma once

#include <rdmad/types.h>

/* `state_dir` NULL: a database in memory.  `set_aside`, if not NULL, gets the new path of a
 * damaged database (g_free()), else NULL; the damage is logged.  Retries after a temporary error
 * for 2.5 s.
 * RDMAD_ERROR_ABI; RDMAD_ERROR_CONFIG: a symbolic link; RDMAD_ERROR_FAILED: a lock, a full disk, an
 * error of the disk.  None of these errors renames a file. */
RdmadState *rdmad_state_open(const char *state_dir, char **set_aside, GError **error);
/* Returns FALSE if a newer rdmad wrote the database, which another process may have open:
 * RDMAD_ERROR_ABI. */
gboolean rdmad_state_rehearse(const char *state_dir, GError **error);
void rdmad_state_close(RdmadState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadState, rdmad_state_close)

/* Called before the database is opened again: checks that its directory exists and is still
 * locked by this process. */
typedef gboolean (*RdmadStateKeeper)(gpointer data, GError **error);
void rdmad_state_set_keeper(RdmadState *state, RdmadStateKeeper keeper, gpointer data);

/* Moves checkpoints of the log from commits to the loop: after a second without writes, or on
 * the turn after the log has become long.  The loop must outlive the state. */
void rdmad_state_set_loop(RdmadState *state, RdmadLoop *loop);

/* Sets `*current` to whether writes go to the file in its place.  FALSE after the file, its -wal
 * or their directory was moved, removed or replaced, or if the handle no longer accepts writes.
 * RDMAD_ERROR_FAILED: unknown. */
gboolean rdmad_state_is_current(RdmadState *state, gboolean *current, GError **error);
/* Opens the database in its place, once and without waiting; a foreign or damaged file is set
 * aside.  Its contents may be old: write everything again.  After an error the state is closed,
 * and writes fail. */
gboolean rdmad_state_reopen(RdmadState *state, GError **error);

/* Writes between begin and commit are atomic, and on the disk when commit returns TRUE. */
gboolean rdmad_state_begin(RdmadState *state, GError **error);
/* Begins a transaction of one statement, which SQLite commits with it: without those of BEGIN and
 * COMMIT an allocation takes less CPU time.  rdmad_state_commit() follows as well. */
gboolean rdmad_state_begin_single(RdmadState *state, GError **error);
gboolean rdmad_state_commit(RdmadState *state, GError **error);
void rdmad_state_rollback(RdmadState *state);
/* FALSE: a commit survives the end of rdmad, but not a power cut, until the next commit that
 * waits, which syncs both.  The caller must set it to TRUE again. */
void rdmad_state_wait_for_disk(RdmadState *state, gboolean waits);
/* Checks whether the database is writable by writing an unchanged value. */
gboolean rdmad_state_try(RdmadState *state, GError **error);

/* Passes every allocation, oldest first, to `fn`, which takes the reference over. */
gboolean rdmad_state_load_allocations(RdmadState *state,
				      void (*fn)(const RdmadAllocation *allocation, gpointer data),
				      gpointer data, GError **error);
/* Inserts an allocation whose number is not in the database. */
gboolean rdmad_state_add_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error);
/* Inserts or updates an allocation. */
gboolean rdmad_state_put_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error);
gboolean rdmad_state_delete_all(RdmadState *state, GError **error);
gboolean rdmad_state_delete_allocation(RdmadState *state, gint64 number, GError **error);

/* ---- tables of modules (rdmad/state.h) ---- */

/* Called before and after each write of modules: restores a lost database, and then sets `*lost`.
 * NULL: no check. */
typedef gboolean (*RdmadStateRestore)(gpointer data, gboolean *lost, GError **error);
void rdmad_state_set_restore(RdmadState *state, RdmadStateRestore restore, gpointer data);
/* Writes the tables of all modules again, within the transaction that restores the database. */
gboolean rdmad_state_tables_rewrite(RdmadState *state, GError **error);
/* Closes the tables that a module left open.  Returns their number. */
guint rdmad_state_tables_reap(RdmadState *state, const RdmadModule *owner);
