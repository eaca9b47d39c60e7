/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "state"

#include "service/state-private.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

gboolean rdmad_state_error(RdmadState *state, const char *what, GError **error)
{
	const int code = sqlite3_errcode(state->db) & 0xff;
	/* SQLite keeps it when later errors are not the system's. */
	const gboolean of_system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
	const int errnum = of_system ? sqlite3_system_errno(state->db) : 0;

	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "database %s: %s: %s%s%s", state->path,
		    what, sqlite3_errmsg(state->db), errnum ? ": " : "",
		    errnum ? g_strerror(errnum) : "");
	return FALSE;
}

/* With statements that are right, the last two say as well that the file is not: its format or its
 * tables are others, or its header says that nobody may write.  (A read-only disk has failed
 * before.) */
static gboolean code_is_damage(int code)
{
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
	       code == SQLITE_ERROR || code == SQLITE_READONLY;
}

gboolean rdmad_state_setup_error(RdmadState *state, GError **error)
{
	const int code = sqlite3_errcode(state->db);
	GError *why = NULL;

	rdmad_state_error(state, "cannot set it up", &why);
	if (code_is_damage(code))
		why->code = RDMAD_ERROR_INVALID;
	g_propagate_error(error, why);
	return FALSE;
}

void rdmad_state_close(RdmadState *state)
{
	if (!state)
		return;
	for (guint i = 0; i < STATE_N_STATEMENTS; i++)
		sqlite3_finalize(state->statements[i]);
	sqlite3_close(state->db);
	g_free(state->path);
	g_free(state);
}

static RdmadState *state_try(const char *path, GError **error)
{
	g_autoptr(RdmadState) state = g_new0(RdmadState, 1);
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;

	state->path = g_strdup(path);
	if (sqlite3_open_v2(path, &state->db, flags, NULL) != SQLITE_OK) {
		rdmad_state_error(state, "cannot open it", error);
		return NULL;
	}
	return rdmad_state_set_up(state, error) ? g_steal_pointer(&state) : NULL;
}

/* Once: a database that is damaged anew as soon as it is made is the disk's fault. */
static RdmadState *state_start_anew(const char *path, const GError *why, char **set_aside,
				    GError **error)
{
	if (!rdmad_state_file_set_aside(path, set_aside, error) ||
	    !rdmad_state_file_prepare(path, set_aside, error))
		return NULL;
	rdmad_warn("%s; it is set aside as %s, the table of claims starts empty", why->message,
		   *set_aside);
	return state_try(path, error);
}

static RdmadState *state_open_file(const char *state_dir, char **set_aside, GError **error)
{
	g_autofree char *path = g_build_filename(state_dir, "rdmad.db", NULL);
	g_autofree char *aside = NULL;
	g_autoptr(GError) why = NULL;
	RdmadState *state;

	if (!rdmad_state_file_prepare(path, &aside, error))
		return NULL;
	if (aside)
		rdmad_warn("%s is no database; it is set aside as %s", path, aside);
	state = state_try(path, &why);
	if (!state && g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_INVALID))
		state = state_start_anew(path, why, &aside, error);
	else if (!state)
		g_propagate_error(error, g_steal_pointer(&why));
	if (state && set_aside)
		*set_aside = g_steal_pointer(&aside);
	return state;
}

RdmadState *rdmad_state_open(const char *state_dir, char **set_aside, GError **error)
{
	if (set_aside)
		*set_aside = NULL;
	return state_dir ? state_open_file(state_dir, set_aside, error)
			 : state_try(":memory:", error);
}

static gboolean state_run(RdmadState *state, RdmadStatement which, const char *what, GError **error)
{
	sqlite3_stmt *statement = state->statements[which];
	const gboolean ok =
		sqlite3_step(statement) == SQLITE_DONE || rdmad_state_error(state, what, error);

	sqlite3_reset(statement);
	return ok;
}

gboolean rdmad_state_begin(RdmadState *state, GError **error)
{
	return state_run(state, STATE_BEGIN, "cannot begin to write", error);
}

gboolean rdmad_state_commit(RdmadState *state, GError **error)
{
	if (state_run(state, STATE_COMMIT, "cannot write", error))
		return TRUE;
	rdmad_state_rollback(state);
	return FALSE;
}

/* Some errors have rolled back already; one here changes nothing that the next begin would not say. */
void rdmad_state_rollback(RdmadState *state)
{
	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
}
