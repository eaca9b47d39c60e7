/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rdmad/allocations.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "service/allocation-private.h"
#include "service/state.h"
#include "../support/unit.h"

typedef struct {
	char *dir, *db;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rdmad-state-XXXXXX", NULL);
	f->db = g_build_filename(f->dir, "rdmad.db", NULL);
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		if (g_remove(child) < 0)
			remove_tree(child);
	}
	g_rmdir(path);
}

static void teardown(Fixture *f, gconstpointer data)
{
	remove_tree(f->dir);
	g_free(f->dir);
	g_free(f->db);
}

static RdmadAllocation *sample_allocation(const char *slot)
{
	static gint64 last_number;
	RdmadAllocation *allocation = rdmad_allocation_new(NULL);
	char *addresses[] = { (char *)"192.0.2.7/24", (char *)"2001:db8::7/64", NULL };
	const RdmadAttachment at = { (char *)"/run/netns/a", (char *)"net1", (char *)"mlx5_0",
				     addresses, 3 };

	allocation->resource = g_strdup("rdma/hca");
	allocation->owner = g_strdup("test");
	allocation->slots = g_strsplit(slot, ",", -1);
	allocation->devices = g_strdupv(allocation->slots);
	allocation->since_us = 1234567;
	allocation->number = ++last_number;
	rdmad_allocation_set_pod(allocation, "default", "train-0", NULL);
	rdmad_allocation_add_attachment(allocation, &at);
	return allocation;
}

static RdmadState *open_state(Fixture *f, char **set_aside)
{
	g_autoptr(GError) error = NULL;
	RdmadState *state = rdmad_state_open(f->dir, set_aside, &error);

	g_assert_no_error(error);
	g_assert_nonnull(state);
	return state;
}

static void put(RdmadState *state, const RdmadAllocation *allocation)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_state_begin(state, &error));
	g_assert_true(rdmad_state_put_allocation(state, allocation, &error));
	g_assert_true(rdmad_state_commit(state, &error));
	g_assert_no_error(error);
}

static void collect(const RdmadAllocation *allocation, gpointer data)
{
	g_ptr_array_add(data, (gpointer)allocation);
}

static void allocation_release(gpointer allocation)
{
	rdmad_allocation_unref(allocation);
}

static GPtrArray *load(RdmadState *state)
{
	GPtrArray *allocations = g_ptr_array_new_with_free_func(allocation_release);
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_state_load_allocations(state, collect, allocations, &error));
	g_assert_no_error(error);
	return allocations;
}

/* Makes a closed database with `n` allocations, all in the main file. */
static void fill(Fixture *f, guint n)
{
	g_autoptr(RdmadState) state = open_state(f, NULL);

	g_assert_true(rdmad_state_begin(state, NULL));
	for (guint i = 0; i < n; i++) {
		g_autofree char *slot = g_strdup_printf("slot-%05u", i);
		g_autoptr(RdmadAllocationRef) allocation = sample_allocation(slot);

		g_assert_true(rdmad_state_put_allocation(state, allocation, NULL));
	}
	g_assert_true(rdmad_state_commit(state, NULL));
}

static void test_a_allocation_comes_back_as_it_was(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadState) state = open_state(f, NULL);
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a,b,c");
	g_autoptr(GPtrArray) allocations = NULL;
	const RdmadAllocation *back;

	put(state, allocation);
	rdmad_state_close(g_steal_pointer(&state));
	state = open_state(f, NULL);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 1);
	back = g_ptr_array_index(allocations, 0);
	g_assert_cmpstr(back->id, ==, allocation->id);
	g_assert_cmpstr(back->resource, ==, "rdma/hca");
	g_assert_cmpstr(back->owner, ==, "test");
	g_assert_cmpstrv(back->slots, allocation->slots);
	g_assert_cmpstrv(back->devices, allocation->devices);
	g_assert_cmpstr(back->pod_namespace, ==, "default");
	g_assert_cmpstr(back->pod_name, ==, "train-0");
	g_assert_null(back->container);
	g_assert_cmpint(back->since_us, ==, 1234567);
	g_assert_cmpuint(back->n_attachments, ==, 1);
	g_assert_cmpstr(back->attachments[0].netns, ==, "/run/netns/a");
	g_assert_cmpstr(back->attachments[0].interface, ==, "net1");
	g_assert_cmpstr(back->attachments[0].rdma_device, ==, "mlx5_0");
	g_assert_cmpstrv(back->attachments[0].addresses, allocation->attachments[0].addresses);
	g_assert_cmpint(back->attachments[0].gid_index, ==, 3);
}

static void test_what_was_rolled_back_is_not_there(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadState) state = open_state(f, NULL);
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a");
	g_autoptr(GPtrArray) allocations = NULL;

	g_assert_true(rdmad_state_begin(state, NULL));
	g_assert_true(rdmad_state_put_allocation(state, allocation, NULL));
	rdmad_state_rollback(state);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 0);
}

static void test_a_deleted_allocation_takes_all_of_it_along(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadState) state = open_state(f, NULL);
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a,b");
	g_autoptr(RdmadAllocationRef) other = sample_allocation("a,b");
	g_autoptr(GPtrArray) allocations = NULL;

	put(state, allocation);
	g_assert_true(rdmad_state_begin(state, NULL));
	g_assert_true(rdmad_state_delete_allocation(state, allocation->number, NULL));
	g_assert_true(rdmad_state_put_allocation(state, other, NULL));
	g_assert_true(rdmad_state_commit(state, NULL));
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 1);
	g_assert_cmpstr(((RdmadAllocation *)g_ptr_array_index(allocations, 0))->id, ==, other->id);
}

static void test_allocations_may_share_a_slot(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadState) state = open_state(f, NULL);
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a,b");
	g_autoptr(RdmadAllocationRef) other = sample_allocation("b,c");
	g_autoptr(GPtrArray) allocations = NULL;
	const RdmadAllocation *back;

	rdmad_allocation_set_witness((RdmadAllocation *)other, "boot", "kubelet");
	put(state, allocation);
	put(state, other);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 2);
	back = g_ptr_array_index(allocations, 0);
	g_assert_cmpstrv(back->slots, allocation->slots);
	g_assert_null(back->boot);
	g_assert_null(back->kubelet);
	back = g_ptr_array_index(allocations, 1);
	g_assert_cmpstrv(back->slots, other->slots);
	g_assert_cmpstr(back->boot, ==, "boot");
	g_assert_cmpstr(back->kubelet, ==, "kubelet");
}

/* Returns "d1 uverbs0 0 231:192, ...", and whether they are of CDI names. */
static char *files_text(const RdmadAllocation *allocation)
{
	GString *text = g_string_new(allocation->cdi ? "cdi" : "");

	for (guint i = 0; i < allocation->n_files; i++) {
		const RdmadAllocationFile *file = &allocation->files[i];

		g_string_append_printf(text, "%s%s %s:%s %u %u:%u", i ? ", " : "", file->device,
				       rdmad_chardev_kind_name((RdmadChardevKind)file->kind),
				       file->path, file->port, file->major, file->minor);
	}
	return g_string_free(text, FALSE);
}

static void check_files(RdmadState *state, const char *expected)
{
	g_autoptr(GPtrArray) allocations = load(state);
	g_autofree char *text = files_text(g_ptr_array_index(allocations, 0));

	g_assert_cmpstr(text, ==, expected);
}

/* The second boot starts each container again. */
static void check_files_in_two_boots(Fixture *f, gboolean cdi, const char *first,
				     const char *second)
{
	const RdmadAllocationFile files[] = {
		{ (char *)"a", (char *)"/dev/infiniband/uverbs0", RDMAD_CHARDEV_UVERBS, 0, 231,
		  192 },
		{ (char *)"b", (char *)"/dev/infiniband/odd name", RDMAD_CHARDEV_ISSM, 2, 0, 0 },
	};
	g_autoptr(RdmadState) state = open_state(f, NULL);
	RdmadAllocation *allocation = sample_allocation("a,b");

	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		rdmad_allocation_add_file(allocation, &files[i]);
	allocation->cdi = cdi;
	rdmad_allocation_set_witness(allocation, "boot", "kubelet");
	put(state, allocation);
	check_files(state, first);
	rdmad_allocation_set_witness(allocation, "boot", "another kubelet");
	put(state, allocation);
	check_files(state, first);
	rdmad_allocation_set_witness(allocation, "next boot", "kubelet");
	put(state, allocation);
	check_files(state, second);
	rdmad_allocation_unref(allocation);
}

static void test_device_files_come_back_with_the_numbers_of_this_boot(Fixture *f,
								      gconstpointer data)
{
	check_files_in_two_boots(f, FALSE,
				 "a uverbs:/dev/infiniband/uverbs0 0 231:192, "
				 "b issm:/dev/infiniband/odd name 2 0:0",
				 "a uverbs:/dev/infiniband/uverbs0 0 0:0, "
				 "b issm:/dev/infiniband/odd name 2 0:0");
}

static void test_what_cdi_names_mean_is_of_one_boot(Fixture *f, gconstpointer data)
{
	check_files_in_two_boots(f, TRUE,
				 "cdia uverbs:/dev/infiniband/uverbs0 0 231:192, "
				 "b issm:/dev/infiniband/odd name 2 0:0",
				 "cdi");
}

static void execute(Fixture *f, const char *sql)
{
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(f->db, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

/* A database of version 4.  The first two allocations are of one pod and share a slot. */
static const char version_4[] =
	"PRAGMA journal_mode = WAL;"
	"CREATE TABLE allocations (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, resource TEXT "
	"NOT NULL,"
	"  owner TEXT NOT NULL, pod_namespace TEXT, pod_name TEXT, container TEXT,"
	"  since_us INTEGER NOT NULL, mode TEXT, boot TEXT, kubelet TEXT) STRICT;"
	"CREATE TABLE attachments ("
	"  allocation INTEGER NOT NULL REFERENCES allocations ON DELETE CASCADE,"
	"  position INTEGER NOT NULL, netns TEXT NOT NULL, interface TEXT NOT NULL, rdma_device "
	"TEXT,"
	"  addresses TEXT NOT NULL, gid_index INTEGER NOT NULL,"
	"  PRIMARY KEY (allocation, position)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE slots ("
	"  allocation INTEGER NOT NULL REFERENCES allocations ON DELETE CASCADE,"
	"  resource TEXT NOT NULL, slot TEXT NOT NULL, device TEXT NOT NULL,"
	"  PRIMARY KEY (allocation, slot)) STRICT, WITHOUT ROWID;"
	"INSERT INTO allocations VALUES"
	"  (3, 'ff00000000000003', 'a/b', 'm', 'ml', 'train-0', 'main', 30, 'shared', 'boot', "
	"'kubelet'),"
	"  (5, '0000000000000005', 'a/b', 'm', 'ml', 'train-0', NULL, 50, NULL, NULL, NULL);"
	"INSERT INTO slots VALUES"
	"  (3, 'a/b', 's2', 'd1'), (3, 'a/b', 's1', 'd2'), (3, 'a/b', 's10', 'd3'), (5, 'a/b', "
	"'s2', 'd1');"
	"INSERT INTO attachments VALUES (3, 0, '/run/netns/a', 'net1', 'mlx5_0', '192.0.2.7/24', "
	"3);"
	"PRAGMA application_id = 1380207937;"
	"PRAGMA user_version = 4;";

static char *text_of(const RdmadAllocation *allocation)
{
	g_autofree char *slots = g_strjoinv(",", allocation->slots);
	g_autofree char *devices = g_strjoinv(",", allocation->devices);

	return g_strdup_printf(
		"%s %s %s %s %s %d %s %s %s %s %u %u", allocation->id, slots, devices,
		allocation->pod_cgroup ?: "-", allocation->container ?: "-",
		(int)allocation->since_us, allocation->mode ?: "-", allocation->boot ?: "-",
		allocation->kubelet ?: "-",
		allocation->n_attachments ? allocation->attachments[0].interface : "-",
		allocation->n_attachments, allocation->n_files);
}

static void test_an_older_database_is_read(Fixture *f, gconstpointer data)
{
	static const char *const expected[] = {
		"ff00000000000003 s1,s10,s2 d2,d3,d1 - main 30 shared boot kubelet net1 1 0",
		"0000000000000005 s2 d1 - - 50 - - - - 0 0",
	};
	g_autoptr(RdmadState) state = NULL;

	execute(f, version_4);
	/* The second time, its version is current. */
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GPtrArray) allocations = NULL;

		state = open_state(f, NULL);
		allocations = load(state);
		g_assert_cmpuint(allocations->len, ==, G_N_ELEMENTS(expected));
		for (guint n = 0; n < allocations->len; n++) {
			g_autofree char *text = text_of(allocations->pdata[n]);

			g_assert_cmpstr(text, ==, expected[n]);
		}
		rdmad_state_close(g_steal_pointer(&state));
	}
}

static int text_append(void *text, int n, char **values, char **names)
{
	for (int i = 0; i < n; i++)
		g_string_append_printf(text, "%s\n", values[i]);
	return 0;
}

/* Opens the database once, and returns its tables. */
static char *schema_of(Fixture *f)
{
	GString *text = g_string_new(NULL);
	sqlite3 *db;

	rdmad_state_close(open_state(f, NULL));
	g_assert_cmpint(sqlite3_open(f->db, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db,
				     "SELECT name, sql FROM sqlite_schema ORDER BY name;"
				     "PRAGMA application_id; PRAGMA user_version;",
				     text_append, text, NULL),
			==, SQLITE_OK);
	sqlite3_close(db);
	return g_string_free(text, FALSE);
}

/* A difference would count as damage (rdmad_state_schema_differs()). */
static void test_old_and_new_databases_have_one_schema(Fixture *f, gconstpointer data)
{
	g_autofree char *fresh = schema_of(f);
	g_autofree char *old = NULL;

	g_assert_cmpint(g_remove(f->db), ==, 0);
	execute(f, version_4);
	old = schema_of(f);
	g_assert_cmpstr(old, ==, fresh);
}

static void test_the_files_are_private(Fixture *f, gconstpointer data)
{
	static const char *const names[] = { "rdmad.db", "rdmad.db-wal" };
	g_autofree char *path = g_build_filename(f->dir, "rdmad.db", NULL);
	const mode_t mask = umask(0);
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a");

	/* Another program has made it readable for all. */
	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	g_assert_cmpint(chmod(path, 0666), ==, 0);
	state = open_state(f, NULL);
	put(state, allocation);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_build_filename(f->dir, names[i], NULL);
		struct stat st;

		g_assert_cmpint(stat(file, &st), ==, 0);
		g_assert_cmpint(st.st_mode & 07777, ==, 0600);
	}
	umask(mask);
}

static gint64 size_of(const char *path)
{
	struct stat st;

	g_assert_cmpint(stat(path, &st), ==, 0);
	return st.st_size;
}

static void put_many(RdmadState *state, guint n)
{
	for (guint i = 0; i < n; i++) {
		g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a");

		put(state, allocation);
	}
}

/* No response waits for a checkpoint: a short log is copied after a while, a long one on the next
 * turn. */
static void test_the_log_is_copied_by_the_loop(Fixture *f, gconstpointer data)
{
	static const guint writes[] = { 80, 300 };

	for (guint i = 0; i < G_N_ELEMENTS(writes); i++) {
		g_autoptr(RdmadLoop) loop = rdmad_loop_new();
		g_autoptr(RdmadState) state = open_state(f, NULL);
		gint64 before;

		rdmad_state_set_loop(state, loop);
		before = size_of(f->db);
		put_many(state, writes[i]);
		g_assert_cmpint(size_of(f->db), ==, before);
		rdmad_loop_turn(loop);
		g_assert_cmpint(size_of(f->db), >, before);
		rdmad_state_close(g_steal_pointer(&state));
	}
}

/* ---- damage ---- */

static void be_empty(Fixture *f)
{
	g_assert_true(g_file_set_contents(f->db, "", 0, NULL));
}

static void be_garbage(Fixture *f)
{
	g_autofree char *junk = g_strnfill(8192, 'x');

	g_assert_true(g_file_set_contents(f->db, junk, 8192, NULL));
}

static void be_one_byte(Fixture *f)
{
	g_assert_true(g_file_set_contents(f->db, "S", 1, NULL));
}

static void be_truncated(Fixture *f)
{
	fill(f, 200);
	g_assert_cmpint(truncate(f->db, 10000), ==, 0);
}

static void be_cut_by_pages(Fixture *f)
{
	fill(f, 200);
	g_assert_cmpint(truncate(f->db, 8 * 4096), ==, 0);
}

static void be_only_a_header(Fixture *f)
{
	fill(f, 10);
	g_assert_cmpint(truncate(f->db, 100), ==, 0);
}

static void be_zeroes_inside(Fixture *f)
{
	static const char zeroes[4096];
	int fd;

	fill(f, 200);
	fd = open(f->db, O_RDWR | O_CLOEXEC);
	for (guint page = 1; page < 12; page++)
		g_assert_cmpint(pwrite(fd, zeroes, sizeof(zeroes), page * 4096), ==, 4096);
	close(fd);
}

static void be_a_directory(Fixture *f)
{
	g_assert_cmpint(mkdir(f->db, 0700), ==, 0);
}

static void be_a_fifo(Fixture *f)
{
	g_assert_cmpint(mkfifo(f->db, 0600), ==, 0);
}

static void wal_be_a_directory(Fixture *f)
{
	g_autofree char *wal = g_strconcat(f->db, "-wal", NULL);

	fill(f, 1);
	g_assert_cmpint(mkdir(wal, 0700), ==, 0);
}

static void be_of_another_program(Fixture *f)
{
	execute(f, "CREATE TABLE allocations (x); PRAGMA user_version = 1");
}

static void be_older_without_slots(Fixture *f)
{
	execute(f, version_4);
	execute(f, "DELETE FROM slots");
}

static void lose_a_table(Fixture *f)
{
	fill(f, 1);
	execute(f, "DROP TABLE attachments");
}

static void lose_the_slots(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET slots = '', devices = ''");
}

static void have_an_orphan(Fixture *f)
{
	fill(f, 1);
	execute(f, "PRAGMA foreign_keys = OFF; UPDATE attachments SET allocation = 77");
}

static void have_a_bad_id(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET id = '../../etc/passwd'");
}

static void have_an_id_twice(Fixture *f)
{
	fill(f, 2);
	execute(f, "UPDATE allocations SET id = (SELECT min(id) FROM allocations)");
}

static void have_the_last_number(Fixture *f)
{
	fill(f, 1);
	execute(f, "DELETE FROM attachments; UPDATE allocations SET seq = 9223372036854775807");
}

static void have_an_endless_name(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET pod_name = hex(zeroblob(100000))");
}

static void have_a_name_that_is_no_text(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET pod_name = CAST(x'ff' AS TEXT)");
}

static void have_too_many_slots(Fixture *f)
{
	fill(f, 1);
	execute(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
		   " UPDATE allocations SET devices = (SELECT group_concat('d', char(10)) FROM n),"
		   " slots = (SELECT group_concat(printf('z%04d', i), char(10)) FROM n)");
}

static void have_too_many_files(Fixture *f)
{
	fill(f, 1);
	execute(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8193)"
		   " UPDATE allocations SET files ="
		   " (SELECT group_concat('a uverbs 0 231 192 /dev/a', char(10)) FROM n)");
}

static void have_endless_files(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET"
		   " files = 'a uverbs 0 231 192 /dev/' || hex(zeroblob(5000000))");
}

static void have_a_file_of_no_device(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET files = 'a uverbs 0 231 192'");
}

static void have_a_file_of_another_kind(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET files = 'a rdma_cm 0 231 192 /dev/a'");
}

static void have_a_file_with_a_bad_number(Fixture *f)
{
	fill(f, 1);
	execute(f, "UPDATE allocations SET files = 'a uverbs 0 231 -1 /dev/a'");
}

typedef struct {
	const char *name;
	void (*make)(Fixture *f);
	gboolean fine; /* nothing is set aside */
} Damage;

static const Damage damages[] = {
	{ "empty", be_empty, TRUE },
	{ "garbage", be_garbage },
	{ "one byte", be_one_byte },
	{ "truncated", be_truncated },
	{ "cut by pages", be_cut_by_pages },
	{ "only a header", be_only_a_header },
	{ "zeroes inside", be_zeroes_inside },
	{ "a directory", be_a_directory },
	{ "a fifo", be_a_fifo },
	{ "wal is a directory", wal_be_a_directory },
	{ "of another program", be_of_another_program },
	{ "a table is lost", lose_a_table },
	{ "slots are lost", lose_the_slots },
	{ "slots of an older one are lost", be_older_without_slots },
	{ "an orphan", have_an_orphan },
	{ "a bad id", have_a_bad_id },
	{ "an id twice", have_an_id_twice },
	{ "the last number", have_the_last_number },
	{ "an endless name", have_an_endless_name },
	{ "a name that is not text", have_a_name_that_is_no_text },
	{ "too many device files", have_too_many_files },
	{ "endless device files", have_endless_files },
	{ "a device file of no device", have_a_file_of_no_device },
	{ "a device file of another kind", have_a_file_of_another_kind },
	{ "a device file with a bad number", have_a_file_with_a_bad_number },
	{ "too many slots", have_too_many_slots },
};

static void check_damage(Fixture *f, const Damage *damage)
{
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(GPtrArray) allocations = NULL;
	g_autofree char *aside = NULL;
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a");

	g_test_message("%s", damage->name);
	damage->make(f);
	state = open_state(f, &aside);
	g_assert_true((aside == NULL) == damage->fine);
	if (aside) {
		g_assert_true(g_str_has_prefix(aside, f->db));
		g_assert_nonnull(strstr(aside, ".damaged-"));
		g_assert_true(g_file_test(aside, G_FILE_TEST_EXISTS) ||
			      damage->make == wal_be_a_directory);
	}
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 0);
	put(state, allocation);
}

static void test_a_damaged_database_is_set_aside(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(damages); i++) {
		Fixture one = { 0 };

		setup(&one, NULL);
		check_damage(&one, &damages[i]);
		teardown(&one, NULL);
	}
}

static void number_of_free_pages_set(Fixture *f, guint8 n)
{
	g_autofree char *bytes = NULL;
	gsize size;

	g_assert_true(g_file_get_contents(f->db, &bytes, &size, NULL));
	bytes[39] = (char)n; /* the last of four bytes, by the file format */
	g_assert_true(g_file_set_contents(f->db, bytes, (gssize)size, NULL));
}

/* No allocation is in a free page. */
static void test_a_wrong_list_of_free_pages_loses_nothing(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(GPtrArray) allocations = NULL;
	g_autofree char *aside = NULL;

	fill(f, 60);
	execute(f, "DELETE FROM attachments");
	execute(f, "DELETE FROM allocations WHERE seq > (SELECT min(seq) + 2 FROM allocations)");
	number_of_free_pages_set(f, 99);
	state = open_state(f, &aside);
	g_assert_null(aside);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 3);
	g_clear_pointer(&state, rdmad_state_close);
	state = open_state(f, &aside);
	g_assert_null(aside);
}

/* With any wrong byte, the state opens, and a damaged file is kept. */
static void test_any_flipped_byte_opens(Fixture *f, gconstpointer data)
{
	g_autofree char *good = NULL;
	gsize size;
	guint aside_count = 0;

	fill(f, 60);
	g_assert_true(g_file_get_contents(f->db, &good, &size, NULL));
	for (guint i = 0; i < 150; i++) {
		const gsize at = i < 100 ? i : (gsize)g_test_rand_int_range(100, (gint32)size);
		g_autofree char *bad = g_memdup2(good, size);
		g_autofree char *aside = NULL;
		g_autoptr(RdmadState) state = NULL;
		g_autoptr(GError) error = NULL;

		bad[at] ^= (char)g_test_rand_int_range(1, 256);
		g_assert_true(g_file_set_contents(f->db, bad, (gssize)size, NULL));
		state = rdmad_state_open(f->dir, &aside, &error);
		/* The header has the version, too: bytes 60 to 63. */
		if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_ABI) && at >= 60 && at < 64)
			continue;
		g_assert_no_error(error);
		if (aside) {
			g_autofree char *wal = g_strconcat(aside, "-wal", NULL);

			g_assert_cmpint(unlink(aside), ==, 0);
			unlink(wal);
			aside_count++;
		}
	}
	g_assert_cmpuint(aside_count, >, 10);
}

static void test_two_in_one_second_have_two_names(Fixture *f, gconstpointer data)
{
	g_autofree char *first = NULL, *second = NULL;

	be_garbage(f);
	rdmad_state_close(open_state(f, &first));
	be_garbage(f);
	rdmad_state_close(open_state(f, &second));
	g_assert_cmpstr(first, !=, second);
	g_assert_true(g_file_test(first, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(second, G_FILE_TEST_EXISTS));
}

static void test_a_newer_database_is_refused_and_left(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) allocations = NULL;
	g_autoptr(RdmadState) state = NULL;
	g_autofree char *aside = NULL;

	fill(f, 1);
	execute(f, "PRAGMA user_version = 99");
	g_assert_null(rdmad_state_open(f->dir, &aside, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_ABI);
	g_assert_nonnull(strstr(error->message, f->db));
	g_assert_null(aside);
	execute(f, "PRAGMA user_version = 8");
	state = open_state(f, NULL);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 1);
}

static void test_a_symbolic_link_is_refused(Fixture *f, gconstpointer data)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	g_autofree char *target = g_build_filename(f->dir, "elsewhere", NULL);

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *link = g_strconcat(f->db, parts[i], NULL);
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(symlink(target, link), ==, 0);
		g_assert_null(rdmad_state_open(f->dir, NULL, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_assert_nonnull(strstr(error->message, link));
		g_assert_cmpint(unlink(link), ==, 0);
		g_assert_false(g_file_test(target, G_FILE_TEST_EXISTS));
	}
}

static void test_a_symbolic_link_on_the_way_is_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *link = g_build_filename(f->dir, "link", NULL);
	g_autofree char *below = g_build_filename(link, "state", NULL);
	g_autofree char *dir = g_build_filename(f->dir, "state", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadState) state = NULL;

	g_assert_cmpint(mkdir(dir, 0700), ==, 0);
	g_assert_cmpint(symlink(".", link), ==, 0);
	state = rdmad_state_open(below, NULL, &error);
	g_assert_no_error(error);
}

static void test_without_a_directory_it_lives_in_memory(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadState) state = rdmad_state_open(NULL, NULL, &error);
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("a");
	g_autoptr(GPtrArray) allocations = NULL;

	g_assert_no_error(error);
	put(state, allocation);
	allocations = load(state);
	g_assert_cmpuint(allocations->len, ==, 1);
}

/* RDMAD_ERROR_INVALID would blame the request, which is valid. */
static void test_damage_under_an_open_database_is_a_failed_write(Fixture *f, gconstpointer data)
{
	g_autofree char *noise = g_strnfill(4096, '\xff');
	g_autoptr(RdmadAllocationRef) allocation = sample_allocation("one-more");
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(GError) error = NULL;
	struct stat st;
	int fd;

	fill(f, 2000);
	state = open_state(f, NULL);
	fd = open(f->db, O_WRONLY | O_CLOEXEC);
	g_assert_cmpint(fstat(fd, &st), ==, 0);
	for (off_t at = 4096; at < st.st_size; at += 4096)
		g_assert_cmpint(pwrite(fd, noise, 4096, at), ==, 4096);
	close(fd);
	g_assert_true(rdmad_state_begin(state, &error));
	g_assert_false(rdmad_state_put_allocation(state, allocation, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	rdmad_state_rollback(state);
}

static void test_a_missing_directory_is_an_error(Fixture *f, gconstpointer data)
{
	g_autofree char *dir = g_build_filename(f->dir, "missing", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_state_open(dir, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, dir));
}

static void test_a_locked_database_is_an_error_not_damage(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *aside = NULL;
	sqlite3 *db;

	fill(f, 1);
	g_assert_cmpint(sqlite3_open(f->db, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;", NULL,
				     NULL, NULL),
			==, SQLITE_OK);
	g_assert_null(rdmad_state_open(f->dir, &aside, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_null(aside);
	sqlite3_close(db);
}

#define TEST(name) UNIT_FIXTURE_TEST("/state/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_allocation_comes_back_as_it_was),
	TEST(what_was_rolled_back_is_not_there),
	TEST(a_deleted_allocation_takes_all_of_it_along),
	TEST(allocations_may_share_a_slot),
	TEST(device_files_come_back_with_the_numbers_of_this_boot),
	TEST(what_cdi_names_mean_is_of_one_boot),
	TEST(an_older_database_is_read),
	TEST(old_and_new_databases_have_one_schema),
	TEST(the_log_is_copied_by_the_loop),
	TEST(the_files_are_private),
	TEST(a_damaged_database_is_set_aside),
	TEST(a_wrong_list_of_free_pages_loses_nothing),
	TEST(any_flipped_byte_opens),
	TEST(two_in_one_second_have_two_names),
	TEST(a_newer_database_is_refused_and_left),
	TEST(a_symbolic_link_is_refused),
	TEST(a_symbolic_link_on_the_way_is_followed),
	TEST(without_a_directory_it_lives_in_memory),
	TEST(a_missing_directory_is_an_error),
	TEST(damage_under_an_open_database_is_a_failed_write),
	TEST(a_locked_database_is_an_error_not_damage),
	{ 0 },
};
