/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "clock.h"
#include "notify.h"

#define LINKS_MAX 40u
#define DEVICE	  0x53u

static TreeEntry *root;
static ino_t last_number;
static guint64 changes;

/* ---- files and names ---- */

static void changed(TreeFile *file)
{
	const gint64 now_us = g_get_real_time();

	file->changed = (struct timespec){ now_us / SIM_S, (glong)(++changes % 1000000000) };
}

guint64 tree_changes(void)
{
	return changes;
}

static TreeFile *file_new(mode_t mode)
{
	TreeFile *file = g_new0(TreeFile, 1);

	file->mode = mode;
	file->number = ++last_number;
	if (S_ISREG(mode))
		file->bytes = g_byte_array_new();
	changed(file);
	return file;
}

static void file_leave(TreeFile *file)
{
	if (--file->entries)
		return;
	notify_file_ended(file);
	if (file->bytes)
		g_byte_array_unref(file->bytes);
	g_free(file->target);
	g_free(file);
}

static guint32 key_of(const char *name, gsize length)
{
	return (guint32)length << 16 | (guint32)(guint8)*name << 8 | (guint8)name[length - 1];
}

static void entry_set_name(TreeEntry *entry, char *name)
{
	entry->name = name;
	entry->length = strlen(name);
	entry->key = key_of(name, entry->length);
}

static TreeEntry *entry_new(TreeFile *file, char *name)
{
	TreeEntry *entry = g_new0(TreeEntry, 1);

	entry->file = file;
	entry_set_name(entry, name);
	entry->refs = 1;
	file->entries++;
	return entry;
}

TreeEntry *tree_root(void)
{
	if (!root)
		root = entry_new(file_new(S_IFDIR | 0755), g_strdup(&TREE_ROOT[1]));
	return root;
}

TreeEntry *tree_entry_ref(TreeEntry *entry)
{
	entry->refs++;
	return entry;
}

void tree_entry_unref(TreeEntry *entry)
{
	if (--entry->refs)
		return;
	file_leave(entry->file);
	if (entry->parent)
		tree_entry_unref(entry->parent);
	g_free(entry->name);
	g_free(entry);
}

static void entry_attach(TreeEntry *entry, TreeEntry *parent)
{
	TreeFile *directory = parent->file;

	entry->parent = tree_entry_ref(parent);
	entry->newer = NULL;
	entry->older = directory->newest;
	if (entry->older)
		entry->older->newer = entry;
	directory->newest = entry;
	changed(directory);
}

/* Keeps the parent, so that the entry still has its path. */
static void entry_detach(TreeEntry *entry)
{
	TreeFile *directory = entry->parent->file;

	if (entry->newer)
		entry->newer->older = entry->older;
	else
		directory->newest = entry->older;
	if (entry->older)
		entry->older->newer = entry->newer;
	changed(directory);
}

static void entry_remove(TreeEntry *entry)
{
	entry_detach(entry);
	entry->gone = TRUE;
	entry->file->names--;
	changed(entry->file);
}

void tree_entry_path(const TreeEntry *entry, char *path, gsize size)
{
	const gboolean gone = entry->gone;
	gsize at = size - 1, n;

	path[at] = '\0';
	for (; entry; entry = entry->parent) {
		n = MIN(entry->length, at - 1);
		at -= n;
		memcpy(path + at, entry->name, n);
		path[--at] = '/';
	}
	memmove(path, path + at, size - at);
	if (gone)
		g_strlcat(path, " (deleted)", size);
}

/* ---- lookup ---- */

static TreeEntry *entry_below(const TreeEntry *directory, const char *name, gsize length)
{
	const guint32 key = key_of(name, length);
	TreeEntry *entry = directory->file->newest;

	while (entry && (entry->key != key || memcmp(entry->name, name, length) != 0))
		entry = entry->older;
	return entry;
}

static gboolean fail_with(int errnum)
{
	errno = errnum;
	return FALSE;
}

static gboolean find(TreeEntry *top, TreeEntry *at, const char *path, gboolean follow,
		     TreePlace *place, guint links);

/* Follows a link in the directory `at`. */
static gboolean find_target(TreeEntry *top, TreeEntry *at, const TreeEntry *link, TreePlace *place,
			    guint links)
{
	const char *target = link->file->target;

	if (links == LINKS_MAX)
		return fail_with(ELOOP);
	return find(top, *target == '/' ? top : at, target, TRUE, place, links + 1);
}

static TreeEntry *step_to(TreeEntry *top, TreeEntry *at, const char *name, gsize length)
{
	if (length == 1 && *name == '.')
		return at;
	if (length == 2 && !strncmp(name, "..", 2))
		return at == top || !at->parent ? at : at->parent;
	return entry_below(at, name, length);
}

static const char *slashes_skip(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static gboolean find(TreeEntry *top, TreeEntry *at, const char *path, gboolean follow,
		     TreePlace *place, guint links)
{
	*place = (TreePlace){ at->parent, at, at->name, at->length };
	for (path = slashes_skip(path); *path;) {
		const char *end = strchrnul(path, '/');
		const gsize length = (gsize)(end - path);
		const char *rest = slashes_skip(end);
		TreeEntry *next;

		if (!S_ISDIR(at->file->mode))
			return fail_with(ENOTDIR);
		next = step_to(top, at, path, length);
		*place = (TreePlace){ at, next, path, length };
		if (next && S_ISLNK(next->file->mode) && (*end || follow)) {
			if (!find_target(top, at, next, place, links))
				return FALSE;
			next = place->entry;
		}
		if (!next)
			return *rest || place->parent->gone ? fail_with(ENOENT) : TRUE;
		at = next;
		path = rest;
	}
	return TRUE;
}

gboolean tree_find(TreeEntry *top, TreeEntry *at, const char *path, gboolean follow,
		   TreePlace *place)
{
	return find(top, at, path, follow, place, 0);
}

/* ---- changes ---- */

static void entry_put(TreeEntry *entry, TreeEntry *parent)
{
	entry_attach(entry, parent);
	entry->file->names++;
	notify_name(entry, IN_CREATE);
}

TreeEntry *tree_make(const TreePlace *place, mode_t mode)
{
	TreeEntry *entry = entry_new(file_new(mode), g_strndup(place->name, place->length));

	entry->file->kind = place->parent->file->kind;
	entry_put(entry, place->parent);
	return entry;
}

TreeEntry *tree_make_nameless(const char *name)
{
	TreeEntry *entry = entry_new(file_new(S_IFREG | 0600), g_strdup(name));

	entry->gone = TRUE;
	return entry;
}

gboolean tree_link(TreeFile *file, const TreePlace *place)
{
	if (place->entry)
		return fail_with(EEXIST);
	entry_put(entry_new(file, g_strndup(place->name, place->length)), place->parent);
	return TRUE;
}

static gboolean may_remove(const TreeEntry *entry, gboolean is_dir)
{
	if (is_dir && !S_ISDIR(entry->file->mode))
		return fail_with(ENOTDIR);
	if (!is_dir && S_ISDIR(entry->file->mode))
		return fail_with(EISDIR);
	return !entry->file->newest || fail_with(ENOTEMPTY);
}

gboolean tree_remove(TreeEntry *entry, gboolean is_dir)
{
	if (!may_remove(entry, is_dir))
		return FALSE;
	entry_remove(entry);
	notify_name(entry, IN_DELETE);
	tree_entry_unref(entry);
	return TRUE;
}

static gboolean is_within(const TreeEntry *entry, const TreeEntry *directory)
{
	while (entry && entry != directory)
		entry = entry->parent;
	return entry != NULL;
}

gboolean tree_rename(TreeEntry *entry, const TreePlace *to, gboolean replace)
{
	TreeEntry *before = to->entry, *from = entry->parent;

	if (before && !replace)
		return fail_with(EEXIST);
	if (is_within(to->parent, entry))
		return fail_with(EINVAL);
	if (before && before->file == entry->file)
		return TRUE;
	if (before && !may_remove(before, S_ISDIR(entry->file->mode)))
		return FALSE;
	if (before)
		entry_remove(before);
	notify_name(entry, IN_MOVED_FROM);
	entry_detach(entry);
	g_free(entry->name);
	entry_set_name(entry, g_strndup(to->name, to->length));
	entry_attach(entry, to->parent);
	tree_entry_unref(from);
	notify_name(entry, IN_MOVED_TO);
	if (before)
		tree_entry_unref(before);
	notify_file(entry->file, IN_MOVE_SELF);
	return TRUE;
}

void tree_set_size(GByteArray *file, gsize size)
{
	const gsize before = file->len;

	g_byte_array_set_size(file, (guint)size);
	if (size > before)
		memset(file->data + before, 0, size - before);
}

void tree_write(GByteArray *file, const void *bytes, gsize size, gsize at)
{
	if (at > file->len)
		tree_set_size(file, at);
	if (at + size > file->len)
		g_byte_array_set_size(file, (guint)(at + size));
	memcpy(file->data + at, bytes, size);
}

void tree_touch(TreeEntry *entry)
{
	changed(entry->file);
	notify_file(entry->file, IN_MODIFY);
	if (!entry->gone)
		notify_name(entry, IN_MODIFY);
}

void tree_stat(const TreeFile *file, struct stat *st)
{
	const gboolean is_dir = S_ISDIR(file->mode);

	*st = (struct stat){
		.st_dev = DEVICE,
		.st_ino = file->number,
		.st_mode = file->mode,
		.st_nlink = is_dir ? 2 : file->names,
		.st_size = file->bytes	  ? (off_t)file->bytes->len
			   : file->target ? (off_t)strlen(file->target)
					  : 0,
		.st_blksize = 4096,
		.st_atim = file->changed,
		.st_mtim = file->changed,
		.st_ctim = file->changed,
	};
	st->st_blocks = (st->st_size + 511) / 512;
}
