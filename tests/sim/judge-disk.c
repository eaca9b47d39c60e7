/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "judge.h"
#include "node.h"

/* The files that were read last, and what they say: a fourth of all lives leave them as they
 * were. */
static struct {
	GBytes *db, *wal;    /* NULL: there is none, or it must be read again */
	GHashTable *ids;     /* of its allocations */
	GPtrArray *journal;  /* CNI's: container, state, container, ... */
	gboolean is_damaged; /* by half a frame, which the next life must mend */
} last;

/* The world has one thread, and nobody reads SQLite's statistics, so that it needs no locks. */
void judge_disk_make(void)
{
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void judge_disk_begin(void)
{
	last.ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	last.journal = g_ptr_array_new_with_free_func(g_free);
}

void judge_disk_end(void)
{
	g_clear_pointer(&last.db, g_bytes_unref);
	g_clear_pointer(&last.wal, g_bytes_unref);
	g_clear_pointer(&last.ids, g_hash_table_unref);
	g_clear_pointer(&last.journal, g_ptr_array_unref);
}

/* ---- the database ---- */

static int id_take(void *data, int n, char **values, char **names)
{
	g_hash_table_add(last.ids, g_strdup(values[0]));
	return 0;
}

/*
 * The checksum of SQLite's log is linear: +1, -2 and +1 in three words of a page cancel out.  A
 * list of free pages can differ by that from the page that the log had at the same place before, so
 * that SQLite takes the head of a frame with the old page for a whole frame
 * (regress/half-a-frame.trace).  The next life mends it.
 */
static int verdict_take(void *data, int n, char **values, char **names)
{
	const char *verdict = values[0] ? values[0] : "";

	if (g_str_equal(verdict, "ok"))
		return 0;
	last.is_damaged = disk_has_half_a_frame() && strstr(verdict, "freelist: size is");
	if (!last.is_damaged)
		judge_fails("the database is damaged: %s", verdict);
	return 0;
}

static int journal_take(void *data, int n, char **values, char **names)
{
	g_ptr_array_add(last.journal, g_strdup(values[0]));
	g_ptr_array_add(last.journal, g_strdup(values[1]));
	return 0;
}

static void database_read(const char *path)
{
	sqlite3 *db = NULL;

	g_hash_table_remove_all(last.ids);
	g_ptr_array_set_size(last.journal, 0);
	last.is_damaged = FALSE;
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA integrity_check(1)", verdict_take, NULL, NULL) != SQLITE_OK)
		judge_fails("the database cannot be read: %s", sqlite3_errmsg(db));
	sqlite3_exec(db, "PRAGMA foreign_key_check", verdict_take, NULL, NULL);
	sqlite3_exec(db, "SELECT id FROM allocations", id_take, NULL, NULL);
	/* A life without CNI has no such table. */
	sqlite3_exec(db, "SELECT container, state FROM module_cni_journal", journal_take, NULL,
		     NULL);
	sqlite3_close(db);
}

static GBytes *file_bytes(const char *path)
{
	char *bytes;
	gsize size;

	return g_file_get_contents(path, &bytes, &size, NULL) ? g_bytes_new_take(bytes, size)
							      : NULL;
}

static gboolean bytes_replace(GBytes **old, GBytes *new)
{
	const gboolean differ = !*old || !new ? *old != new : !g_bytes_equal(*old, new);

	g_clear_pointer(old, g_bytes_unref);
	*old = new;
	return differ;
}

static void file_write(const char *path, GBytes *bytes)
{
	if (bytes)
		g_file_set_contents(path, g_bytes_get_data(bytes, NULL),
				    (gssize)g_bytes_get_size(bytes), NULL);
	else
		unlink(path);
}

/* Reads a copy, because reading would change the database. */
static void database_copy_read(void)
{
	g_autofree char *copy = g_strconcat(node_run_dir(), "-copy.db", NULL);
	g_autofree char *copy_wal = g_strconcat(copy, "-wal", NULL);

	file_write(copy, last.db);
	file_write(copy_wal, last.wal);
	database_read(copy);
}

static void database_check(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < last.journal->len; i += 2)
		judge_network_journal(last.journal->pdata[i], last.journal->pdata[i + 1]);
	for (guint i = 0; i < pods->len; i++) {
		const Grant *grants[POD_GRANTS_MAX];

		for (guint n = pod_grants(pods->pdata[i], grants); n-- > 0;)
			if (!g_hash_table_contains(last.ids, grants[n]->id))
				judge_fails("an acknowledged allocation is not in the database: %s",
					    grants[n]->id);
	}
}

static void no_database_check(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Grant *grants[POD_GRANTS_MAX];

		if (pod_grants(pods->pdata[i], grants))
			judge_fails("the database is gone, and %s lives",
				    ((const Pod *)pods->pdata[i])->name);
	}
}

/* ---- files ---- */

json_t *judge_json(const char *path)
{
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? json_loads(text, 0, NULL) : NULL;
}

/* A file with this name must be complete. */
static void cdi_check(void)
{
	g_autoptr(GDir) dir = g_dir_open(node_cdi_dir(), 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(node_cdi_dir(), name, NULL);
		json_t *object = *name == '.' ? NULL : judge_json(path);

		if (*name != '.' && !object)
			judge_fails("a CDI file is not whole: %s", name);
		json_decref(object);
	}
}

void judge_disk(void)
{
	g_autofree char *db = g_build_filename(node_state_dir(), "rdmad.db", NULL);
	g_autofree char *wal = g_strconcat(db, "-wal", NULL);
	gboolean differ;

	cdi_check();
	differ = bytes_replace(&last.wal, file_bytes(wal));
	differ |= bytes_replace(&last.db, file_bytes(db));
	if (!last.db) {
		no_database_check();
		return;
	}
	if (differ || last.is_damaged)
		database_copy_read();
	database_check();
}
