/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, its migrations, and the check of a database */
#include "service/state-private.h"

#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

#define APPLICATION_ID 0x52444d41 /* "RDMA" */
#define BUSY_MS	       100	  /* if the file is open in sqlite3 */

/*
 * The cache is small, because pages are read only once, at the start.  Measured: 0.55 MiB PSS with
 * an empty table, 0.4 MiB of it SQLite's code and data; 500 bytes more for each allocation.
 */
/* The lock mode must be set before the first read, or SQLite creates a -shm file. */
static const char pragmas[] = "PRAGMA locking_mode = EXCLUSIVE;"
			      "PRAGMA cache_size = -128;"
			      "PRAGMA mmap_size = 0;"
			      "PRAGMA temp_store = MEMORY;"
			      "PRAGMA trusted_schema = OFF;"
			      "PRAGMA cell_size_check = ON;"
			      "PRAGMA synchronous = FULL;"
			      "PRAGMA journal_size_limit = 4194304;";

/* The columns of version 6, without the end of the list. */
#define ALLOCATIONS_6                                                                              \
	"("                                                                                        \
	"  seq INTEGER PRIMARY KEY,"                                                               \
	"  id TEXT NOT NULL,"                                                                      \
	"  resource TEXT NOT NULL,"                                                                \
	"  owner TEXT NOT NULL,"                                                                   \
	"  pod_namespace TEXT, pod_name TEXT, container TEXT,"                                     \
	"  since_us INTEGER NOT NULL,"                                                             \
	"  mode TEXT, boot TEXT, kubelet TEXT,"                                                    \
	"  slots TEXT NOT NULL,"  /* one a line */                                                 \
	"  devices TEXT NOT NULL" /* the same */
#define ALLOCATIONS_END ") STRICT;"
#define POD_CGROUP	"pod_cgroup TEXT"
#define FILES		"files TEXT" /* one a line: device, kind, port, major, minor, path */
#define CDI		"cdi INTEGER NOT NULL DEFAULT 0"
#define COLUMNS_AFTER_6 ", " POD_CGROUP ", " FILES ", " CDI
/* After the first one. */
#define ATTACHMENTS_6                                                                              \
	"  position INTEGER NOT NULL,"                                                             \
	"  netns TEXT NOT NULL,"                                                                   \
	"  interface TEXT NOT NULL,"                                                               \
	"  rdma_device TEXT,"                                                                      \
	"  addresses TEXT NOT NULL," /* one a line */                                              \
	"  gid_index INTEGER NOT NULL,"                                                            \
	"  PRIMARY KEY (allocation, position)"                                                     \
	") STRICT, WITHOUT ROWID;"

/* A new database has the newest tables at once, because the migrations would take most of the time
 * of its first opening.  The names are quoted as ALTER TABLE leaves them, so that all databases
 * have one schema (rdmad_state_schema_differs()). */
static const char newest[] =
	"CREATE TABLE \"allocations\" " ALLOCATIONS_6 COLUMNS_AFTER_6 ALLOCATIONS_END
	"CREATE TABLE \"attachments\" ("
	"  allocation INTEGER NOT NULL REFERENCES \"allocations\" ON DELETE CASCADE," ATTACHMENTS_6;

/* Entry N migrates version N to N + 1.  Released entries must not be changed. */
static const char *const migrations[] = {
	/* The rowid of a claim is its age. */
	"CREATE TABLE claims ("
	"  seq INTEGER PRIMARY KEY,"
	"  id TEXT NOT NULL UNIQUE,"
	"  resource TEXT NOT NULL,"
	"  owner TEXT NOT NULL,"
	"  pod_namespace TEXT, pod_name TEXT, container TEXT,"
	"  since_us INTEGER NOT NULL"
	") STRICT;"
	"CREATE TABLE tokens ("
	"  claim INTEGER NOT NULL REFERENCES claims ON DELETE CASCADE,"
	"  resource TEXT NOT NULL,"
	"  token TEXT NOT NULL,"
	"  device TEXT NOT NULL,"
	"  PRIMARY KEY (resource, token)"
	") STRICT, WITHOUT ROWID;"
	"CREATE UNIQUE INDEX tokens_by_claim ON tokens (claim, token);"
	"CREATE TABLE attachments ("
	"  claim INTEGER NOT NULL REFERENCES claims ON DELETE CASCADE,"
	"  position INTEGER NOT NULL,"
	"  netns TEXT NOT NULL,"
	"  interface TEXT NOT NULL,"
	"  rdma_device TEXT,"
	"  addresses TEXT NOT NULL," /* one a line */
	"  gid_index INTEGER NOT NULL,"
	"  PRIMARY KEY (claim, position)"
	") STRICT, WITHOUT ROWID;",
	"ALTER TABLE claims ADD COLUMN mode TEXT;",
	/* Containers of one pod may share a token. */
	"CREATE TABLE tokens_of_claims ("
	"  claim INTEGER NOT NULL REFERENCES claims ON DELETE CASCADE,"
	"  resource TEXT NOT NULL,"
	"  token TEXT NOT NULL,"
	"  device TEXT NOT NULL,"
	"  PRIMARY KEY (claim, token)"
	") STRICT, WITHOUT ROWID;"
	"INSERT INTO tokens_of_claims SELECT claim, resource, token, device FROM tokens;"
	"DROP TABLE tokens;"
	"ALTER TABLE tokens_of_claims RENAME TO tokens;"
	"ALTER TABLE claims ADD COLUMN boot TEXT;"
	"ALTER TABLE claims ADD COLUMN kubelet TEXT;",
	/* The words of Kubernetes: a claim is a ResourceClaim there. */
	"ALTER TABLE claims RENAME TO allocations;"
	"ALTER TABLE tokens RENAME TO slots;"
	"ALTER TABLE slots RENAME COLUMN claim TO allocation;"
	"ALTER TABLE slots RENAME COLUMN token TO slot;"
	"ALTER TABLE attachments RENAME COLUMN claim TO allocation;",
	/* An allocation is one row, because every b-tree that changes is a page to write and
	 * sync. */
	"ALTER TABLE allocations ADD COLUMN slots TEXT NOT NULL DEFAULT '';"   /* one a line */
	"ALTER TABLE allocations ADD COLUMN devices TEXT NOT NULL DEFAULT '';" /* the same */
	"UPDATE allocations SET"
	"  slots = (SELECT ifnull(group_concat(slot, char(10)), '') FROM"
	"    (SELECT slot FROM slots WHERE allocation = seq ORDER BY slot)),"
	"  devices = (SELECT ifnull(group_concat(device, char(10)), '') FROM"
	"    (SELECT device FROM slots WHERE allocation = seq ORDER BY slot));"
	"DROP TABLE slots;",
	/* The table of allocations finds an allocation by its id, and the database by its number:
	 * an index of ids is a second page to write and sync. */
	"CREATE TABLE numbered " ALLOCATIONS_6 ALLOCATIONS_END
	"INSERT INTO numbered SELECT seq, id, resource, owner, pod_namespace, pod_name, container,"
	"  since_us, mode, boot, kubelet, slots, devices FROM allocations;"
	"CREATE TABLE attachments_of_numbered ("
	"  allocation INTEGER NOT NULL REFERENCES numbered ON DELETE CASCADE," ATTACHMENTS_6
	"INSERT INTO attachments_of_numbered SELECT * FROM attachments;"
	"DROP TABLE attachments;"
	"DROP TABLE allocations;"
	"ALTER TABLE numbered RENAME TO allocations;"
	"ALTER TABLE attachments_of_numbered RENAME TO attachments;",
	/* The processes of a pod may go on while a later one has its name. */
	"ALTER TABLE allocations ADD COLUMN " POD_CGROUP ";",
	/* A device file may be another device's while a container has it. */
	"ALTER TABLE allocations ADD COLUMN " FILES ";"
	"ALTER TABLE allocations ADD COLUMN " CDI ";",
};

static gboolean set_damaged(RdmadState *state, GError **error, const char *how)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "database %s: %s", state->path, how);
	return FALSE;
}

static gboolean run(RdmadState *state, const char *sql, GError **error)
{
	return sqlite3_exec(state->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       rdmad_state_setup_error(state, sqlite3_errcode(state->db), error);
}

static int text_copy(void *data, int n, char **values, char **names)
{
	char **text = data;

	if (!*text)
		*text = g_strdup(n ? values[0] : NULL);
	return 0;
}

/* Returns the first column of the first row; "" if there is no row. */
static char *query(RdmadState *state, const char *sql, GError **error)
{
	char *text = NULL;

	if (sqlite3_exec(state->db, sql, text_copy, &text, NULL) == SQLITE_OK)
		return text ? text : g_strdup("");
	g_free(text);
	rdmad_state_setup_error(state, sqlite3_errcode(state->db), error);
	return NULL;
}

static gboolean query_number(RdmadState *state, const char *sql, gint64 *number, GError **error)
{
	g_autofree char *text = query(state, sql, error);

	if (text)
		*number = g_ascii_strtoll(text, NULL, 10);
	return text != NULL;
}

/* `from` 0: the database is new. */
static gboolean migrate(RdmadState *state, guint from, GError **error)
{
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	if (!from) {
		g_string_append(sql, newest);
	} else {
		for (guint i = from; i < G_N_ELEMENTS(migrations); i++)
			g_string_append(sql, migrations[i]);
	}
	g_string_append_printf(sql, "PRAGMA application_id = %d; PRAGMA user_version = %u; COMMIT;",
			       APPLICATION_ID, (guint)G_N_ELEMENTS(migrations));
	if (run(state, sql->str, error))
		return TRUE;
	rdmad_state_rollback(state);
	return FALSE;
}

static gboolean version_is_known(const char *path, gint64 version, GError **error)
{
	if (version <= (gint64)G_N_ELEMENTS(migrations))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_ABI,
		    "database %s has version %" G_GINT64_FORMAT
		    ", this rdmad supports up to %u: use the newer rdmad that wrote it, or "
		    "move it away to start empty",
		    path, version, (guint)G_N_ELEMENTS(migrations));
	return FALSE;
}

gboolean rdmad_state_rehearse(const char *state_dir, GError **error)
{
	g_autofree char *path = g_build_filename(state_dir, RDMAD_STATE_FILE, NULL);
	guint version;

	return !rdmad_state_file_read_version(path, &version) ||
	       version_is_known(path, version, error);
}

static gboolean schema_set_up(RdmadState *state, GError **error)
{
	gint64 application, version, objects;

	if (!query_number(state, "PRAGMA application_id", &application, error) ||
	    !query_number(state, "PRAGMA user_version", &version, error) ||
	    !query_number(state, "SELECT count(*) FROM sqlite_schema", &objects, error))
		return FALSE;
	if (application == 0 && version == 0 && objects == 0)
		return migrate(state, 0, error);
	if (application != APPLICATION_ID || version < 1)
		return set_damaged(state, error, "it belongs to another program");
	if (!version_is_known(state->path, version, error))
		return FALSE;
	return version == (gint64)G_N_ELEMENTS(migrations) || migrate(state, version, error);
}

/* Returns the schema without the tables of modules; NULL: unknown. */
static char *schema_text(sqlite3 *db)
{
	char *text = NULL;

	if (sqlite3_exec(db,
			 "SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema "
			 "WHERE name NOT GLOB 'module_*' ORDER BY type, name)",
			 text_copy, &text, NULL) != SQLITE_OK)
		g_clear_pointer(&text, g_free);
	return text;
}

/* Returns the schema after the first `version` migrations. */
static char *schema_text_of(gint64 version)
{
	char *text = NULL;
	int code = SQLITE_OK;
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK) {
		for (gint64 i = 0; i < version && code == SQLITE_OK; i++)
			code = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
		text = code == SQLITE_OK ? schema_text(db) : NULL;
	}
	sqlite3_close(db);
	return text;
}

gboolean rdmad_state_schema_differs(RdmadState *state)
{
	g_autofree char *is = schema_text(state->db), *should_be = NULL;
	gint64 version;

	if (!query_number(state, "PRAGMA user_version", &version, NULL) ||
	    version > (gint64)G_N_ELEMENTS(migrations))
		return FALSE;
	should_be = schema_text_of(version);
	return should_be && g_strcmp0(is, should_be);
}

/* Writes the version, which is in the first page of the file. */
gboolean rdmad_state_try(RdmadState *state, GError **error)
{
	char sql[64];

	g_snprintf(sql, sizeof(sql), "PRAGMA user_version = %u", (guint)G_N_ELEMENTS(migrations));
	return sqlite3_exec(state->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       rdmad_state_error(state, "cannot write", error);
}

/* The integrity check reports an unreadable page like a damaged one.  Messages about pointer maps
 * mean damage: this database has no auto_vacuum, so it has pointer maps only if its header is
 * damaged. */
static gboolean verdict_is_read_error(const char *verdict)
{
	static const char with_code[] = "unable to get the page. error code=";
	const char *at = strstr(verdict, with_code);
	int code;

	if (!at)
		return strstr(verdict, "failed to get page") != NULL;
	code = (int)g_ascii_strtoll(at + strlen(with_code), NULL, 10) & 0xff;
	return code != SQLITE_CORRUPT && code != SQLITE_NOTADB;
}

static gboolean set_unsound(RdmadState *state, GError **error, char *verdict)
{
	g_strdelimit(verdict, "\n", ' ');
	if (!verdict_is_read_error(verdict))
		return set_damaged(state, error, verdict);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "database %s cannot be read: %s",
		    state->path, verdict);
	return FALSE;
}

static gboolean line_is_of_free_pages(const char *line)
{
	return strstr(line, "reelist: size is ") ||
	       (g_str_has_prefix(line, "Page ") && g_str_has_suffix(line, " is never used"));
}

/* No row is in a free page. */
static gboolean verdict_is_of_free_pages(const char *verdict)
{
	g_auto(GStrv) lines = g_strsplit(verdict, "\n", -1);
	gboolean found = FALSE;

	for (char **line = lines; *line; line++) {
		if (g_str_has_prefix(*line, "***") || !**line)
			continue;
		if (!line_is_of_free_pages(*line))
			return FALSE;
		found = TRUE;
	}
	return found;
}

/* The checksum of SQLite's log is linear.  After a kill in the middle of a frame, the page that the
 * log had there before may have the checksum of the new one, as happens with the list of free
 * pages. */
static gboolean free_pages_rebuild(RdmadState *state, GError **error)
{
	rdmad_warn("database %s: its list of free pages is wrong; it is written anew", state->path);
	return run(state, "PRAGMA temp_store = MEMORY; VACUUM", error);
}

static gboolean pages_check(RdmadState *state, gboolean rebuild, GError **error)
{
	g_autofree char *verdict = query(state, "PRAGMA integrity_check(1)", error);

	if (!verdict)
		return FALSE;
	if (strcmp(verdict, "ok") == 0)
		return TRUE;
	if (rebuild && verdict_is_of_free_pages(verdict))
		return free_pages_rebuild(state, error) && pages_check(state, FALSE, error);
	return set_unsound(state, error, verdict);
}

static gboolean integrity_check(RdmadState *state, GError **error)
{
	g_autofree char *orphan = NULL, *twice = NULL;

	if (!pages_check(state, TRUE, error))
		return FALSE;
	orphan = query(state, "PRAGMA foreign_key_check", error);
	if (!orphan)
		return FALSE;
	if (*orphan)
		return set_damaged(state, error, "a row belongs to no allocation");
	twice = query(state, "SELECT id FROM allocations GROUP BY id HAVING count(*) > 1", error);
	if (!twice)
		return FALSE;
	return !*twice || set_damaged(state, error, "two allocations have one id");
}

static gboolean wal_set_up(RdmadState *state, GError **error)
{
	g_autofree char *mode = query(state, "PRAGMA journal_mode = WAL", error);

	if (!mode)
		return FALSE;
	if (!strcmp(mode, "wal") || !strcmp(mode, "memory"))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "database %s: this filesystem cannot hold a write-ahead log; use a local one "
		    "(--state-dir)",
		    state->path);
	return FALSE;
}

static void ignore_allocation(const RdmadAllocation *allocation, gpointer data)
{
	rdmad_allocation_unref(allocation);
}

gboolean rdmad_state_set_up(RdmadState *state, GError **error)
{
	sqlite3_busy_timeout(state->db, BUSY_MS);
	sqlite3_db_config(state->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(state->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(state->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(state->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	sqlite3_wal_hook(state->db, rdmad_state_logged, state);
	return run(state, pragmas, error) && wal_set_up(state, error) &&
	       schema_set_up(state, error) && integrity_check(state, error) &&
	       rdmad_state_prepare(state, error) &&
	       rdmad_state_load_allocations(state, ignore_allocation, NULL, error);
}
