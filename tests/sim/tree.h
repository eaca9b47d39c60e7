/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of files of the world, in memory
 *
 * Everything below TREE_ROOT is here and not in the kernel: the machine, the disk, /run, kubelet's
 * directories.  As on any Linux file system, a file may have several names, and a removed file
 * exists while it is open.  A directory lists its newest name first, as tmpfs does.  The events of
 * inotify depend on the file system (notify.h), which a new file has from its directory.
 *
 * Errors are -1, FALSE or NULL with errno.  The caller is root.
 */
#pragma once

#include <glib.h>
#include <sys/stat.h>

#define TREE_ROOT "/simulated"

typedef struct TreeEntry TreeEntry;

typedef enum {
	TREE_DISK,   /* ext4, tmpfs */
	TREE_CGROUP, /* kernfs: processes make and remove directories, and the kernel what is in
			them */
	TREE_KERNEL, /* sysfs, procfs: the kernel changes all of it */
} TreeKind;

typedef struct {
	mode_t mode;
	TreeKind kind;
	ino_t number;
	guint entries; /* entries that refer to it */
	nlink_t names; /* names in directories */
	guint opens;   /* open descriptions, of files.c */
	struct timespec changed;
	GByteArray *bytes; /* of a regular file */
	char *target;	   /* of a link */
	TreeEntry *newest; /* of a directory */
	GSList *watches;   /* of notify.c */
} TreeFile;

/* A name, which may have been removed from its directory. */
struct TreeEntry {
	TreeEntry *parent, *newer, *older;
	TreeFile *file;
	char *name;
	gsize length; /* of the name */
	guint32 key;  /* of the name: its length, its first and its last byte */
	guint refs;
	gboolean gone;
};

/* The place of a path; `entry` NULL: `parent` has no such name. */
typedef struct {
	TreeEntry *parent, *entry;
	const char *name;
	gsize length;
} TreePlace;

TreeEntry *tree_root(void);
TreeEntry *tree_entry_ref(TreeEntry *entry);
void tree_entry_unref(TreeEntry *entry);
/* Returns the path in the form of /proc/self/fd. */
void tree_entry_path(const TreeEntry *entry, char *path, gsize size);

/* Resolves a path from `at`; absolute links and ".." stay below `root`. */
gboolean tree_find(TreeEntry *root, TreeEntry *at, const char *path, gboolean follow,
		   TreePlace *place);

/* Makes a file of this type and mode; borrowed. */
TreeEntry *tree_make(const TreePlace *place, mode_t mode);
/* Makes a file without a directory. */
TreeEntry *tree_make_nameless(const char *name);
gboolean tree_link(TreeFile *file, const TreePlace *place);
gboolean tree_remove(TreeEntry *entry, gboolean is_dir);
gboolean tree_rename(TreeEntry *entry, const TreePlace *to, gboolean replace);
/* Change contents as write() and truncate() do; gaps are filled with 0. */
void tree_write(GByteArray *file, const void *bytes, gsize size, gsize at);
void tree_set_size(GByteArray *file, gsize size);
/* Records that the contents have changed. */
void tree_touch(TreeEntry *entry);
/* Returns the number of changes of all files. */
guint64 tree_changes(void);
void tree_stat(const TreeFile *file, struct stat *st);
