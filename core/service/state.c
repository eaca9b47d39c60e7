/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "state"

#include "service/state-private.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <stdlib.h>

/* 2.5 s in total; after that, the service manager retries. */
#define FIRST_PAUSE_US 5000
#define TRIES	       10

/* A checkpoint, which syncs twice, runs between writes: with LOG_PAGES after QUIET_MS without a
 * write, and with LOG_PAGES_MAX on the next turn of the loop.  A log that stays below
 * journal_size_limit is overwritten, which halves the time of fdatasync(), because the file does
 * not grow. */
#define LOG_PAGES     64
#define LOG_PAGES_MAX 1000
#define QUIET_MS      1000

/* Returns whether another handle may accept what this one rejects.  A full disk or a failed read is
 * no reason for another handle. */
static gboolean code_breaks_handle(int code)
{
	switch (code & 0xff) {
	case SQLITE_CANTOPEN:
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_PROTOCOL:
	case SQLITE_READONLY:
		return TRUE;
	default:
		return FALSE;
	}
}

/* Returns the system's errno.  For the WAL, SQLite stores it only with the file. */
static int state_errnum(RdmadState *state)
{
	sqlite3_file *log = NULL;
	int errnum = sqlite3_system_errno(state->db);

	if (!errnum &&
	    sqlite3_file_control(state->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ==
		    SQLITE_OK &&
	    log && log->pMethods)
		log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &errnum);
	return errnum;
}

static gboolean state_fail(RdmadState *state, int code, const char *what, GError **error)
{
	/* SQLite keeps the errno of an earlier failure, so it is read only after a system error. */
	const gboolean of_system =
		(code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
	const int errnum = of_system ? state_errnum(state) : 0;
	const char *why = code == sqlite3_errcode(state->db) ? sqlite3_errmsg(state->db)
							     : sqlite3_errstr(code);

	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "database %s: %s: %s%s%s", state->path,
		    what, why, errnum ? ": " : "", errnum ? g_strerror(errnum) : "");
	return FALSE;
}

gboolean rdmad_state_error(RdmadState *state, const char *what, GError **error)
{
	const int code = sqlite3_errcode(state->db);

	state->is_broken |= code_breaks_handle(code);
	state->log_needs_rewrite |= code == SQLITE_IOERR_FSYNC;
	return state_fail(state, code, what, error);
}

/* The statements are correct, so SQLITE_ERROR means that the tables are foreign. */
static gboolean state_is_damaged(RdmadState *state, int code)
{
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return TRUE;
	case SQLITE_ERROR:
		return rdmad_state_schema_differs(state);
	case SQLITE_READONLY:
		return rdmad_state_file_forbids_writing(state->path);
	default:
		return FALSE;
	}
}

gboolean rdmad_state_setup_error(RdmadState *state, int code, GError **error)
{
	GError *why = NULL;

	state_fail(state, code, "cannot set it up", &why);
	if (state_is_damaged(state, code))
		why->code = RDMAD_ERROR_INVALID;
	g_propagate_error(error, why);
	return FALSE;
}

/* ---- one handle ---- */

static gboolean state_is_in_memory(const RdmadState *state)
{
	return g_str_equal(state->path, ":memory:");
}

/* The log may have a hole: an earlier handle, even of another process, may have seen its fsync
 * fail.  Returns TRUE if that is unknown. */
static gboolean state_has_log(const RdmadState *state)
{
	RdmadStateFile log;

	return !state_is_in_memory(state) &&
	       (!rdmad_state_file_identify(state->path, "-wal", &log, NULL) || log.inode);
}

/* Repairs a log with a hole, which a failed fsync leaves on the disk.  After a power failure SQLite
 * would read the log up to the hole, lose later transactions, and replay older pages over a
 * checkpoint of newer ones.  The page cache still has the bytes, so they are written again. */
static gboolean log_repair(RdmadState *state, GError **error)
{
	if (state->log_needs_rewrite && !rdmad_state_file_rewrite_log(state->path, error))
		return FALSE;
	state->log_needs_rewrite = FALSE;
	return TRUE;
}

/* Keeps a -wal file that has replaced rdmad's, and one with a hole, which the next handle
 * repairs. */
static void state_close_handle(RdmadState *state, gboolean leave_wal)
{
	for (guint i = 0; i < STATE_N_STATEMENTS; i++)
		sqlite3_finalize(g_steal_pointer(&state->statements[i]));
	rdmad_state_tables_forget(state);
	if (state->db && (leave_wal || state->log_needs_rewrite))
		sqlite3_db_config(state->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(g_steal_pointer(&state->db));
}

/* Identifies the open files.  HAS_MOVED compares SQLite's own inode; a check by name alone may be
 * too late. */
static gboolean state_identify(RdmadState *state, GError **error)
{
	int moved = 0;

	if (state_is_in_memory(state))
		return TRUE;
	if (!rdmad_state_file_identify(state->path, "", &state->file, error) ||
	    !rdmad_state_file_identify(state->path, "-wal", &state->wal, error))
		return FALSE;
	sqlite3_file_control(state->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (!moved && state->file.inode && state->wal.inode)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "database %s was moved while it was opened", state->path);
	return FALSE;
}

/* SQLite opens a file read-only if it cannot open it for writing, even for a temporary reason, and
 * reports that only on a write.  A full disk does not prevent the start. */
static gboolean state_check_writable(RdmadState *state, GError **error)
{
	GError *problem = NULL;
	const gboolean written = rdmad_state_try(state, &problem);
	const int code = sqlite3_errcode(state->db);

	if (written || !state->is_broken) {
		g_clear_error(&problem);
		return TRUE;
	}
	if (state_is_damaged(state, code))
		problem->code = RDMAD_ERROR_INVALID;
	g_propagate_error(error, problem);
	return FALSE;
}

static gboolean state_open_handle(RdmadState *state, GError **error)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;

	state->is_broken = state->synchronous_normal = FALSE;
	state->log_needs_rewrite = state_has_log(state);
	if (sqlite3_open_v2(state->path, &state->db, flags, NULL) != SQLITE_OK)
		return rdmad_state_error(state, "cannot open it", error);
	if (!rdmad_state_set_up(state, error))
		return FALSE;
	/* Needs the lock of this handle.  After an error, the first transaction retries. */
	log_repair(state, NULL);
	return state_check_writable(state, error) && state_identify(state, error);
}

static gboolean state_open_once(RdmadState *state, char **set_aside, GError **error)
{
	if ((state_is_in_memory(state) ||
	     rdmad_state_file_prepare(state->path, set_aside, error)) &&
	    state_open_handle(state, error))
		return TRUE;
	state_close_handle(state, TRUE);
	return FALSE;
}

/* ---- at the start ---- */

static gboolean state_open_retrying(RdmadState *state, char **set_aside, GError **error)
{
	gint64 pause_us = FIRST_PAUSE_US;

	for (guint tries = 1;; tries++, pause_us *= 2) {
		g_autoptr(GError) why = NULL;

		if (state_open_once(state, set_aside, &why))
			return TRUE;
		if (tries == TRIES || !g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_FAILED)) {
			g_propagate_error(error, g_steal_pointer(&why));
			return FALSE;
		}
		rdmad_debug("%s; trying again", why->message);
		g_usleep((gulong)pause_us);
	}
}

/* Returns TRUE if the database is open; FALSE with RDMAD_ERROR_INVALID if it is damaged. */
static gboolean state_open_checked(RdmadState *state, char **set_aside, GError **error)
{
	g_autoptr(GError) why = NULL;

	/* A second handle must find the same damage. */
	for (guint i = 0; i < 2; i++) {
		g_clear_error(&why);
		if (state_open_retrying(state, set_aside, &why) ||
		    !g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_INVALID))
			break;
	}
	if (why)
		g_propagate_error(error, g_steal_pointer(&why));
	return state->db != NULL;
}

/* Tries once: if the new database is damaged too, the disk is at fault. */
static gboolean state_replace_damaged(RdmadState *state, const GError *why, char **set_aside,
				      GError **error)
{
	g_autoptr(GError) again = NULL;

	if (!rdmad_state_file_set_aside(state->path, "damaged", set_aside, error))
		return FALSE;
	rdmad_warn("%s; it is set aside as %s, the table of allocations starts empty", why->message,
		   *set_aside);
	if (state_open_retrying(state, set_aside, &again))
		return TRUE;
	again->code = RDMAD_ERROR_FAILED;
	g_propagate_error(error, g_steal_pointer(&again));
	return FALSE;
}

/* With SQLITE_OPEN_NOFOLLOW, SQLite refuses a symbolic link anywhere in the path. */
static char *database_path(const char *state_dir)
{
	g_autofree char *real = realpath(state_dir, NULL);

	return g_build_filename(real ?: state_dir, RDMAD_STATE_FILE, NULL);
}

RdmadState *rdmad_state_open(const char *state_dir, char **set_aside, GError **error)
{
	g_autoptr(RdmadState) state = g_new0(RdmadState, 1);
	g_autoptr(GError) why = NULL;
	g_autofree char *aside = NULL;

	if (set_aside)
		*set_aside = NULL;
	/* A cache would begin with 20 pages in one piece (87 kB), twice what an idle daemon needs.
	 * Rejected, without an effect, after the first handle. */
	sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
	state->path = state_dir ? database_path(state_dir) : g_strdup(":memory:");
	if (!state_open_checked(state, &aside, &why) &&
	    !g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_INVALID)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return NULL;
	}
	if (aside)
		rdmad_warn("%s is not a database; it is set aside as %s", state->path, aside);
	if (!state->db && !state_replace_damaged(state, why, &aside, error))
		return NULL;
	if (set_aside)
		*set_aside = g_steal_pointer(&aside);
	return g_steal_pointer(&state);
}

void rdmad_state_close(RdmadState *state)
{
	gboolean current = FALSE;

	if (!state)
		return;
	rdmad_state_is_current(state, &current, NULL);
	state_close_handle(state, !current);
	rdmad_event_free(state->quiet);
	g_free(state->path);
	g_free(state);
}

/* ---- while it runs ---- */

void rdmad_state_set_keeper(RdmadState *state, RdmadStateKeeper keeper, gpointer data)
{
	state->keeper = keeper;
	state->keeper_data = data;
}

gboolean rdmad_state_is_current(RdmadState *state, gboolean *current, GError **error)
{
	RdmadStateFile file, wal;

	*current = state->db && !state->is_broken;
	if (!*current || state_is_in_memory(state))
		return TRUE;
	if (!rdmad_state_file_identify(state->path, "", &file, error) ||
	    !rdmad_state_file_identify(state->path, "-wal", &wal, error))
		return FALSE;
	*current = rdmad_state_file_equal(&file, &state->file) &&
		   rdmad_state_file_equal(&wal, &state->wal);
	return TRUE;
}

/* Sets a foreign file aside, to make room for rdmad's database. */
static gboolean state_set_foreign_aside(RdmadState *state, GError **error)
{
	g_autofree char *aside = NULL;
	RdmadStateFile file;

	if (!rdmad_state_file_identify(state->path, "", &file, error))
		return FALSE;
	if (!file.inode || rdmad_state_file_equal(&file, &state->file))
		return TRUE;
	if (!rdmad_state_file_set_aside(state->path, "replaced", &aside, error))
		return FALSE;
	rdmad_warn("%s is not the database that was opened; it is set aside as %s", state->path,
		   aside);
	return TRUE;
}

gboolean rdmad_state_reopen(RdmadState *state, GError **error)
{
	g_autoptr(GError) why = NULL;
	g_autofree char *aside = NULL;

	state_close_handle(state, TRUE);
	if ((state->keeper && !state->keeper(state->keeper_data, error)) ||
	    !state_set_foreign_aside(state, error))
		return FALSE;
	if (state_open_once(state, &aside, &why))
		return TRUE;
	if (!g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_INVALID)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return FALSE;
	}
	if (!rdmad_state_file_set_aside(state->path, "damaged", &aside, error))
		return FALSE;
	rdmad_warn("%s; it is set aside as %s", why->message, aside);
	return state_open_once(state, &aside, error);
}

/* ---- checkpoints ---- */

/* A failed checkpoint leaves the log to the next one. */
static void checkpoint(RdmadState *state)
{
	int code;

	if (!log_repair(state, NULL))
		return;
	code = sqlite3_wal_checkpoint_v2(state->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	state->log_needs_rewrite |= code == SQLITE_IOERR_FSYNC;
	if (code != SQLITE_OK)
		rdmad_debug("database %s: cannot copy its log: %s", state->path,
			    sqlite3_errstr(code));
}

static void state_is_quiet(gpointer data)
{
	RdmadState *state = data;

	if (!state->db)
		return;
	checkpoint(state);
	/* The first write after a checkpoint restarts the log and syncs it: do that here, not
	 * before a response. */
	rdmad_state_try(state, NULL);
}

int rdmad_state_logged(void *data, sqlite3 *db, const char *name, int pages)
{
	RdmadState *state = data;

	if (pages >= LOG_PAGES && state->quiet)
		rdmad_event_arm(state->quiet, pages >= LOG_PAGES_MAX ? 0 : QUIET_MS);
	else if (pages >= LOG_PAGES)
		checkpoint(state);
	return SQLITE_OK;
}

void rdmad_state_set_loop(RdmadState *state, RdmadLoop *loop)
{
	state->quiet = rdmad_loop_add_timer(loop, NULL, state_is_quiet, state);
}

/* ---- transactions ---- */

static gboolean state_run(RdmadState *state, RdmadStatement which, const char *what, GError **error)
{
	sqlite3_stmt *statement = state->statements[which];
	const gboolean ok =
		sqlite3_step(statement) == SQLITE_DONE || rdmad_state_error(state, what, error);

	sqlite3_reset(statement);
	return ok;
}

/* Changes the level only if needed: consecutive writes are mostly of one kind. */
static gboolean state_set_level(RdmadState *state, GError **error)
{
	const gboolean normal = state->may_be_lost;

	if (state->synchronous_normal == normal)
		return TRUE;
	/* Waiting although it is not needed is not an error. */
	if (sqlite3_exec(state->db,
			 normal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", NULL,
			 NULL, NULL) != SQLITE_OK)
		return normal || rdmad_state_error(state, "cannot begin to write", error);
	state->synchronous_normal = normal;
	return TRUE;
}

static gboolean state_prepare_write(RdmadState *state, GError **error)
{
	if (!state->db) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "database %s is not open",
			    state->path);
		return FALSE;
	}
	return log_repair(state, error) && state_set_level(state, error);
}

gboolean rdmad_state_begin(RdmadState *state, GError **error)
{
	state->is_single = FALSE;
	return state_prepare_write(state, error) &&
	       state_run(state, STATE_BEGIN, "cannot begin to write", error);
}

gboolean rdmad_state_begin_single(RdmadState *state, GError **error)
{
	state->is_single = TRUE;
	return state_prepare_write(state, error);
}

void rdmad_state_wait_for_disk(RdmadState *state, gboolean waits)
{
	state->may_be_lost = !waits;
}

gboolean rdmad_state_commit(RdmadState *state, GError **error)
{
	if (state->is_single || state_run(state, STATE_COMMIT, "cannot write", error))
		return TRUE;
	rdmad_state_rollback(state);
	return FALSE;
}

/* Some errors have rolled the transaction back already.  A failure here is reported by the next
 * begin. */
void rdmad_state_rollback(RdmadState *state)
{
	if (state->db && !sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
}
