/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of files of the world, in memory
 *
 * All that is below TREE_ROOT is here and not in the kernel: the machine, the disk, /run, kubelet's directories.  Files
 * have names as on any Linux file system: several of one file, and one that is removed while somebody has it open
 * lives on.  A directory lists its newest name first, as tmpfs does.  What inotify tells of a file is a matter of its
 * file system (notify.h); a new file is of that of its directory.
 *
 * Errors are -1, FALSE or NULL with errno.  Who asks is root.
 */
#pragma once

#include <glib.h>
#include <sys/stat.h>

#define TREE_ROOT "/simulated"

typedef struct TreeEntry TreeEntry;

typedef enum {
	TREE_DISK, /* ext4, tmpfs */
	TREE_CGROUP, /* kernfs: processes make and remove directories, and the kernel what is in them */
	TREE_KERNEL, /* sysfs, procfs: the kernel changes all of it */
} TreeKind;

typedef struct {
	mode_t mode;
	TreeKind kind;
	ino_t number;
	guint entries; /* that are not freed */
	nlink_t names; /* that it has in directories */
	struct timespec changed;
	GByteArray *bytes; /* a regular file's */
	char *target; /* where a link leads, or the name of a socket among the kernel's abstract ones */
	TreeEntry *newest; /* in a directory */
	GSList *watches;   /* notify.c */
} TreeFile;

/* A name, which may be gone from its directory. */
struct TreeEntry {
	TreeEntry *parent, *newer, *older;
	TreeFile *file;
	char *name;
	gsize length; /* of the name */
	guint refs;
	gboolean gone;
};

/* The place that a path names; `entry` NULL: `parent` has no such name. */
typedef struct {
	TreeEntry *parent, *entry;
	const char *name;
	gsize length;
} TreePlace;

TreeEntry *tree_root(void);
TreeEntry *tree_entry_ref(TreeEntry *entry);
void tree_entry_unref(TreeEntry *entry);
/* As the kernel writes it into /proc/self/fd. */
void tree_entry_path(const TreeEntry *entry, char *path, gsize size);

/* From `at` on; links that are absolute, and "..", stay below `root`. */
gboolean tree_find(TreeEntry *root, TreeEntry *at, const char *path, gboolean follow,
		   TreePlace *place);

/* Makes a file of this type and mode; borrowed. */
TreeEntry *tree_make(const TreePlace *place, mode_t mode);
/* Of no directory. */
TreeEntry *tree_make_nameless(const char *name);
gboolean tree_link(TreeFile *file, const TreePlace *place);
gboolean tree_remove(TreeEntry *entry, gboolean is_dir);
gboolean tree_rename(TreeEntry *entry, const TreePlace *to, gboolean replace);
/* As write() and truncate() do it: what nobody wrote is 0. */
void tree_write(GByteArray *file, const void *bytes, gsize size, gsize at);
void tree_set_size(GByteArray *file, gsize size);
/* The contents have changed. */
void tree_touch(TreeEntry *entry);
/* How often something was changed, of all files. */
guint64 tree_changes(void);
void tree_stat(const TreeFile *file, struct stat *st);
