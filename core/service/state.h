/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State: the one SQLite database, <state-dir>/rdmad.db (WAL, synchronous=FULL)
 *
 * Only this file and the ones named state-*.c include SQLite.  A damaged database is set aside as
 * rdmad.db.damaged-<time> and an empty one made; a database of a newer schema is RDMAD_ERROR_ABI.
 *
 * The database is locked exclusively: there is no -shm file, no lock is taken while it runs, and no
 * other process can read it.
 */
#pragma once

#include <rdmad/types.h>

/* `state_dir` NULL: in memory, for a try.  `set_aside`, if not NULL, gets where a damaged database
 * went (g_free()), else NULL; the damage is logged.  An error that may pass is tried again
 * for 2.5 s.
 * RDMAD_ERROR_ABI; RDMAD_ERROR_CONFIG: a symbolic link; RDMAD_ERROR_FAILED: a lock, a full disk, an
 * error of the disk.  Nothing is renamed in any of these. */
RdmadState *rdmad_state_open(const char *state_dir, char **set_aside, GError **error);
void rdmad_state_close(RdmadState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadState, rdmad_state_close)

/* Asked before the database is opened again: whether its directory is there and still ours alone. */
typedef gboolean (*RdmadStateKeeper)(gpointer data, GError **error);
void rdmad_state_set_keeper(RdmadState *state, RdmadStateKeeper keeper, gpointer data);

/* The log is copied into the database when nothing was written for a second, or on the turn after it has
 * become long, and no longer within a commit.  The loop outlives the state. */
void rdmad_state_set_loop(RdmadState *state, RdmadLoop *loop);

/* `*current`: writes go to the file in its place.  FALSE after the file, its -wal or their
 * directory was moved, removed or replaced, or if the handle no longer accepts writes.
 * RDMAD_ERROR_FAILED: unknown. */
gboolean rdmad_state_is_current(RdmadState *state, gboolean *current, GError **error);
/* Opens the database in its place, once and without waiting; a file that is not ours or damaged is set
 * aside.  Its contents may be old: write all.  After an error the state is closed, and writes fail. */
gboolean rdmad_state_reopen(RdmadState *state, GError **error);

/* Writes between these are on the disk together when commit returns TRUE, or not at all. */
gboolean rdmad_state_begin(RdmadState *state, GError **error);
gboolean rdmad_state_commit(RdmadState *state, GError **error);
void rdmad_state_rollback(RdmadState *state);
/* FALSE: what is committed survives the end of rdmad at any moment, but not a power cut, until the next commit
 * that waits, which syncs it as well.  Set to TRUE again by the same caller. */
void rdmad_state_wait_for_disk(RdmadState *state, gboolean waits);
/* Whether anything can be written: writes what is there already. */
gboolean rdmad_state_try(RdmadState *state, GError **error);

/* Every allocation, oldest first, as a reference of the callee's. */
gboolean rdmad_state_load_allocations(RdmadState *state,
				      void (*fn)(const RdmadAllocation *allocation, gpointer data),
				      gpointer data, GError **error);
/* One that is not there yet. */
gboolean rdmad_state_add_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error);
/* The same, or what it has become. */
gboolean rdmad_state_put_allocation(RdmadState *state, const RdmadAllocation *allocation,
				    GError **error);
gboolean rdmad_state_delete_all(RdmadState *state, GError **error);
gboolean rdmad_state_delete_allocation(RdmadState *state, const char *id, GError **error);

/* ---- modules' tables (rdmad/state.h) ---- */

/* Called before and after each of their writes: restores a lost database, which sets `*lost`.
 * NULL: no check. */
typedef gboolean (*RdmadStateHome)(gpointer data, gboolean *lost, GError **error);
void rdmad_state_set_home(RdmadState *state, RdmadStateHome home, gpointer data);
/* For who brings it back, within the transaction in which all is written again. */
gboolean rdmad_state_tables_rewrite(RdmadState *state, GError **error);
/* Closes what a module left open; how many. */
guint rdmad_state_tables_reap(RdmadState *state, const RdmadModule *owner);
