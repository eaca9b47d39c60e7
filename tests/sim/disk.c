/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "tree.h"

#define SECTOR	   512u
#define FRAME_HEAD 24 /* of a page in SQLite's log, written before the page */

/* A file or directory, which may have several names. */
typedef struct {
	gboolean is_dir;
	GByteArray *durable;
	GPtrArray *pending; /* of Write, oldest first */
} Node;

typedef struct {
	gboolean truncates; /* the file to `at` */
	gsize at, size;
	guint8 bytes[];
} Write;

/* A name that was set to a node or removed (NULL), before an fsync of its directory. */
typedef struct {
	char *path;
	Node *node;
} Naming;

static struct {
	Decisions *decisions;
	char *root, *run, *world;
	DiskFault fault;
	gint64 failed_us;
	GPtrArray *nodes;    /* all nodes of the run */
	GHashTable *now;     /* path -> Node */
	GHashTable *durable; /* the same, as after a power failure */
	GPtrArray *namings;
	gboolean has_half_a_frame;
} disk;

static void node_free(gpointer data)
{
	Node *node = data;

	g_byte_array_unref(node->durable);
	g_ptr_array_unref(node->pending);
	g_free(node);
}

static void naming_free(gpointer data)
{
	g_free(((Naming *)data)->path);
	g_free(data);
}

static Node *node_new(gboolean is_dir)
{
	Node *node = g_new0(Node, 1);

	node->is_dir = is_dir;
	node->durable = g_byte_array_new();
	node->pending = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(disk.nodes, node);
	return node;
}

void disk_begin(const char *root, const char *run, Decisions *decisions)
{
	disk.decisions = decisions;
	disk.root = g_strdup(root);
	disk.run = g_strdup(run);
	disk.world = g_path_get_dirname(root);
	disk.fault = DISK_WELL;
	disk.failed_us = 0;
	disk.nodes = g_ptr_array_new_with_free_func(node_free);
	disk.now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	disk.durable = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	disk.namings = g_ptr_array_new_with_free_func(naming_free);
	g_hash_table_insert(disk.durable, g_strdup(root), node_new(TRUE));
}

void disk_end(void)
{
	g_clear_pointer(&disk.root, g_free);
	g_clear_pointer(&disk.run, g_free);
	g_clear_pointer(&disk.world, g_free);
	g_hash_table_unref(disk.now);
	g_hash_table_unref(disk.durable);
	g_ptr_array_unref(disk.namings);
	g_ptr_array_unref(disk.nodes);
}

void disk_set_fault(DiskFault fault)
{
	disk.fault = fault;
}

/* ---- operations ---- */

static gboolean is_below(const char *path, const char *root)
{
	const gsize length = root ? strlen(root) : 0;

	return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int refused(int errnum)
{
	if (errnum)
		disk.failed_us = clock_now_us();
	return errnum;
}

int disk_refuses(const char *path, gboolean is_sync)
{
	if (!is_below(path, disk.root) && (is_sync || !is_below(path, disk.run)))
		return 0;
	switch (disk.fault) {
	case DISK_FULL:
		return is_sync ? 0 : refused(ENOSPC);
	case DISK_FAILS:
		return refused(EIO);
	case DISK_LOSES_A_SYNC:
		if (is_sync)
			disk.fault = DISK_WELL;
		return is_sync ? refused(EIO) : 0;
	case DISK_READS_FAIL:
	case DISK_NO_MEMORY:
	case DISK_NO_FILES:
	case DISK_WELL:
	case N_DISK_FAULTS:
		break;
	}
	return 0;
}

/* The world is below one directory; sockets and the like are outside. */
int disk_refuses_read(const char *path)
{
	if (!is_below(path, disk.world))
		return 0;
	return refused(disk.fault == DISK_READS_FAIL  ? EIO
		       : disk.fault == DISK_NO_MEMORY ? ENOMEM
						      : 0);
}

gboolean disk_reads_may_fail(void)
{
	return disk.fault == DISK_READS_FAIL || disk.fault == DISK_NO_MEMORY;
}

int disk_refuses_open(void)
{
	return refused(disk.fault == DISK_NO_FILES ? EMFILE : 0);
}

gint64 disk_failed_us(void)
{
	return disk.failed_us;
}

static void name_set(const char *path, Node *node)
{
	Naming *naming;

	if (!is_below(path, disk.root))
		return;
	naming = g_new(Naming, 1);
	*naming = (Naming){ g_strdup(path), node };
	g_ptr_array_add(disk.namings, naming);
	if (node)
		g_hash_table_replace(disk.now, g_strdup(path), node);
	else
		g_hash_table_remove(disk.now, path);
}

void disk_made(const char *path, gboolean is_dir)
{
	if (is_below(path, disk.root))
		name_set(path, node_new(is_dir));
}

void disk_renamed(const char *from, const char *to)
{
	Node *node = g_hash_table_lookup(disk.now, from);

	if (!node)
		return;
	name_set(to, node);
	name_set(from, NULL);
}

void disk_removed(const char *path)
{
	name_set(path, NULL);
}

static void write_add(const char *path, const void *bytes, Write how)
{
	Node *node = g_hash_table_lookup(disk.now, path);
	Write *write;

	if (!node)
		return;
	write = g_malloc(sizeof(*write) + how.size);
	*write = how;
	memcpy(write->bytes, bytes, how.size);
	g_ptr_array_add(node->pending, write);
}

void disk_wrote(const char *path, const void *bytes, gsize size, off_t at)
{
	disk.has_half_a_frame = size == FRAME_HEAD && g_str_has_suffix(path, "-wal");
	write_add(path, bytes, (Write){ .at = (gsize)at, .size = size });
}

gboolean disk_has_half_a_frame(void)
{
	return disk.has_half_a_frame;
}

void disk_truncated(const char *path, off_t size)
{
	write_add(path, "", (Write){ .truncates = TRUE, .at = (gsize)size });
}

/* Applies at most `size` bytes. */
static void write_apply(const Write *write, GByteArray *file, gsize size)
{
	if (write->truncates)
		tree_set_size(file, write->at);
	else
		tree_write(file, write->bytes, MIN(write->size, size), write->at);
}

static void naming_apply(const Naming *naming)
{
	if (naming->node)
		g_hash_table_replace(disk.durable, g_strdup(naming->path), naming->node);
	else
		g_hash_table_remove(disk.durable, naming->path);
}

static gboolean is_entry(const char *path, const char *directory)
{
	const gsize length = strlen(directory);

	return !strncmp(path, directory, length) && path[length] == '/' &&
	       !strchr(path + length + 1, '/');
}

static void directory_synced(const char *path)
{
	for (guint i = 0; i < disk.namings->len;) {
		const Naming *naming = disk.namings->pdata[i];

		if (!is_entry(naming->path, path)) {
			i++;
			continue;
		}
		naming_apply(naming);
		g_ptr_array_remove_index(disk.namings, i);
	}
}

void disk_synced(const char *path, gboolean lost)
{
	Node *node = g_hash_table_lookup(disk.now, path);

	if (!node || node->is_dir) {
		if (!lost)
			directory_synced(path);
		return;
	}
	for (guint i = 0; !lost && i < node->pending->len; i++)
		write_apply(node->pending->pdata[i], node->durable, G_MAXSIZE);
	g_ptr_array_set_size(node->pending, 0);
}

/* ---- power failures ---- */

/* Applies writes in order.  After the first missing one, some later ones are on the disk too. */
static void node_cut(Node *node, DiskOutcome outcome)
{
	for (guint i = 0; i < node->pending->len; i++) {
		const Write *write = node->pending->pdata[i];
		const guint sectors = (guint)(write->size / SECTOR);
		guint part = outcome;

		if (outcome == DISK_TORN)
			part = decide(disk.decisions, DECIDE_KEPT, N_DISK_OUTCOMES);
		if (part == DISK_KEPT)
			write_apply(write, node->durable, G_MAXSIZE);
		else if (part == DISK_TORN && sectors)
			write_apply(write, node->durable,
				    SECTOR * decide(disk.decisions, DECIDE_KEPT, sectors));
	}
	g_ptr_array_set_size(node->pending, 0);
}

static gboolean parents_are_durable(const char *path)
{
	g_autofree char *parent = g_path_get_dirname(path);
	const Node *node = g_hash_table_lookup(disk.durable, parent);

	return g_str_equal(parent, disk.root) ||
	       (node && node->is_dir && parents_are_durable(parent));
}

static gint compare_paths(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

/* Returns the paths sorted, so that a directory precedes its entries. */
static GList *paths_of(GHashTable *names)
{
	return g_list_sort(g_hash_table_get_keys(names), compare_paths);
}

void disk_empty_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *below = g_build_filename(path, name, NULL);

		if (unlink(below) == 0)
			continue;
		disk_empty_directory(below);
		rmdir(below);
	}
}

static void durable_put(void)
{
	g_autoptr(GList) paths = paths_of(disk.durable);

	for (const GList *l = paths; l; l = l->next) {
		const Node *node = g_hash_table_lookup(disk.durable, l->data);

		if (g_str_equal(l->data, disk.root))
			continue;
		if (!parents_are_durable(l->data)) {
			g_hash_table_remove(disk.durable, l->data);
			continue;
		}
		g_hash_table_replace(disk.now, g_strdup(l->data), (gpointer)node);
		if (node->is_dir)
			g_assert_cmpint(g_mkdir(l->data, 0700), ==, 0);
		else
			g_assert_true(g_file_set_contents_full(
				l->data, (char *)node->durable->data, node->durable->len,
				G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	}
}

void disk_cut_power(DiskOutcome outcome)
{
	guint kept = outcome == DISK_LOST ? 0 : disk.namings->len;

	if (outcome == DISK_TORN)
		kept = decide(disk.decisions, DECIDE_KEPT, disk.namings->len + 1);
	for (guint i = 0; i < kept; i++)
		naming_apply(disk.namings->pdata[i]);
	g_ptr_array_set_size(disk.namings, 0);
	for (guint i = 0; i < disk.nodes->len; i++)
		node_cut(disk.nodes->pdata[i], outcome);
	g_hash_table_remove_all(disk.now);
	disk_empty_directory(disk.root);
	durable_put();
}
