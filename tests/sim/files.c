/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptors.h"
#include "notify.h"
#include "sockets.h"

#define SELF_FD "/proc/self/fd/"

typedef struct {
	Open open;
	TreeEntry *entry;
	int lock;
	off_t at;
} File;

static mode_t mask = 022;
static GPtrArray *locked; /* of File, also of descriptions that are only in a message */

static void file_set_lock(File *file, int lock)
{
	if (!locked)
		locked = g_ptr_array_new();
	if (file->lock)
		g_ptr_array_remove_fast(locked, file);
	file->lock = lock;
	if (lock)
		g_ptr_array_add(locked, file);
}

static void file_end(Open *open)
{
	File *file = (File *)open;

	file_set_lock(file, 0);
	file->entry->file->opens--;
	tree_entry_unref(file->entry);
	g_free(file);
}

static const OpenKind file_kind = { .end = file_end };

static File *file_of(int fd)
{
	return descriptor_of_kind(fd, &file_kind);
}

gboolean files_has(int fd)
{
	return file_of(fd) != NULL;
}

TreeEntry *files_entry(int fd)
{
	return file_of(fd)->entry;
}

const char *files_path(int fd, char *path, gsize size)
{
	const File *file = file_of(fd);

	*path = '\0';
	if (file)
		tree_entry_path(file->entry, path, size);
	return path;
}

void files_set_umask(mode_t to)
{
	mask = to;
}

/* ---- paths ---- */

/* Returns the directory where a path starts, and moves `path` to the rest; NULL: not in the
 * tree. */
static TreeEntry *begin_of(int dir, const char **path)
{
	const gsize root = strlen(TREE_ROOT);

	if (**path != '/')
		return files_has(dir) ? files_entry(dir) : NULL;
	if (!strncmp(*path, TREE_ROOT, root) && ((*path)[root] == '/' || !(*path)[root])) {
		*path += root;
		return tree_root();
	}
	if (!strncmp(*path, SELF_FD, strlen(SELF_FD))) {
		char *end;
		const long fd = strtol(*path + strlen(SELF_FD), &end, 10);

		if (!files_has((int)fd))
			return NULL;
		*path = end;
		return files_entry((int)fd);
	}
	return NULL;
}

gboolean files_find(int dir, const char *path, gboolean follow, TreePlace *place, gboolean *ok)
{
	TreeEntry *begin = begin_of(dir, &path);

	if (begin)
		*ok = tree_find(tree_root(), begin, path, follow, place);
	return begin != NULL;
}

gboolean files_find_entry(int dir, const char *path, gboolean follow, TreeEntry **entry)
{
	TreePlace place;
	gboolean ok;

	if (!files_find(dir, path, follow, &place, &ok))
		return FALSE;
	*entry = ok ? place.entry : NULL;
	if (ok && !place.entry)
		errno = ENOENT;
	return TRUE;
}

/* ---- opening ---- */

static int entry_open(TreeEntry *entry, int flags)
{
	const mode_t mode = entry->file->mode;
	const gboolean writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
	File *file;

	if (S_ISLNK(mode) && !(flags & O_PATH))
		return descriptor_fail(ELOOP);
	if (flags & O_DIRECTORY && !S_ISDIR(mode))
		return descriptor_fail(ENOTDIR);
	if (S_ISDIR(mode) && writes)
		return descriptor_fail(EISDIR);
	if (S_ISSOCK(mode) && !(flags & O_PATH))
		return descriptor_fail(ENXIO);
	if (flags & O_TRUNC && writes) {
		g_byte_array_set_size(entry->file->bytes, 0);
		tree_touch(entry);
	}
	file = g_new0(File, 1);
	file->open.kind = &file_kind;
	file->entry = tree_entry_ref(entry);
	entry->file->opens++;
	file->open.flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	return descriptor_new(&file->open);
}

static int place_open(const TreePlace *place, int flags, mode_t mode)
{
	if (place->entry && flags & O_CREAT && flags & O_EXCL)
		return descriptor_fail(EEXIST);
	if (place->entry)
		return entry_open(place->entry, flags);
	if (!(flags & O_CREAT))
		return descriptor_fail(ENOENT);
	return entry_open(tree_make(place, S_IFREG | (mode & ~mask)), flags & ~O_TRUNC);
}

int files_openat(int dir, const char *path, int flags, mode_t mode)
{
	const gboolean follow = !(flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL));
	TreePlace place;
	gboolean ok;

	if (!files_find(dir, path, follow, &place, &ok))
		return (int)syscall(SYS_openat, dir, path, flags, mode);
	return ok ? place_open(&place, flags, mode) : -1;
}

int files_open_below(int dir, const char *path, int flags)
{
	TreeEntry *root = files_entry(dir);
	TreePlace place;

	if (!tree_find(root, root, path, !(flags & O_NOFOLLOW), &place))
		return -1;
	return place_open(&place, flags, 0);
}

int files_make_nameless(const char *name)
{
	TreeEntry *entry = tree_make_nameless(name);
	const int fd = entry_open(entry, O_RDWR);

	tree_entry_unref(entry);
	return fd;
}

int files_close(int fd)
{
	if (!descriptor_open(fd))
		return (int)syscall(SYS_close, fd);
	if (notify_is(fd))
		notify_close(fd);
	descriptor_close(fd);
	return 0;
}

int files_stat_system(int fd, struct statfs *fs)
{
	static const glong types[] = { [TREE_DISK] = EXT4_SUPER_MAGIC,
				       [TREE_CGROUP] = CGROUP2_SUPER_MAGIC,
				       [TREE_KERNEL] = SYSFS_MAGIC };
	const File *file = file_of(fd);

	if (!file)
		return (int)syscall(SYS_fstatfs, fd, fs);
	*fs = (struct statfs){ .f_type = types[file->entry->file->kind] };
	return 0;
}

int files_flags(int fd)
{
	return file_of(fd)->open.flags;
}

/* Returns whether another description holds a conflicting lock. */
static gboolean is_locked(const File *by, int kind)
{
	for (guint i = 0; locked && i < locked->len; i++) {
		const File *other = locked->pdata[i];

		if (other != by && other->entry->file == by->entry->file &&
		    (kind == LOCK_EX || other->lock == LOCK_EX))
			return TRUE;
	}
	return FALSE;
}

int files_lock(int fd, int operation)
{
	File *file = file_of(fd);
	const int kind = operation & ~LOCK_NB;

	if (!file)
		return (int)syscall(SYS_flock, fd, operation);
	if (kind != LOCK_UN && is_locked(file, kind))
		return descriptor_fail(EWOULDBLOCK);
	file_set_lock(file, kind == LOCK_UN ? 0 : kind);
	return 0;
}

/* ---- contents ---- */

/* Returns NULL with errno if the file is not open for this access, or has no contents. */
static GByteArray *bytes_of(const File *file, int access)
{
	const int mode = file->open.flags & O_ACCMODE;

	if (file->open.flags & O_PATH || (mode != O_RDWR && mode != access)) {
		errno = EBADF;
		return NULL;
	}
	if (!file->entry->file->bytes)
		errno = EISDIR;
	return file->entry->file->bytes;
}

gssize files_pread(int fd, void *bytes, gsize size, off_t at)
{
	const File *file = file_of(fd);
	const GByteArray *from = file ? bytes_of(file, O_RDONLY) : NULL;
	gsize n;

	if (!file)
		return syscall(SYS_pread64, fd, bytes, size, at);
	if (!from)
		return -1;
	if (file->entry->gone && file->entry->file->kind != TREE_DISK)
		return descriptor_fail(ENODEV); /* as kernfs does */
	n = at < (off_t)from->len ? MIN(size, from->len - (gsize)at) : 0;
	if (n)
		memcpy(bytes, from->data + at, n);
	return (gssize)n;
}

gssize files_read(int fd, void *bytes, gsize size)
{
	File *file = file_of(fd);
	Open *open = descriptor_open(fd);
	gssize n;

	if (!open)
		return syscall(SYS_read, fd, bytes, size);
	if (notify_is(fd))
		return notify_read(fd, bytes, size);
	if (!file)
		return open->kind->read ? open->kind->read(open, bytes, size)
					: descriptor_fail(EINVAL);
	n = files_pread(fd, bytes, size, file->at);
	file->at += MAX(n, 0);
	return n;
}

gssize files_pwrite(int fd, const void *bytes, gsize size, off_t at)
{
	const File *file = file_of(fd);
	GByteArray *to = file ? bytes_of(file, O_WRONLY) : NULL;

	if (!file)
		return syscall(SYS_pwrite64, fd, bytes, size, at);
	if (!to)
		return -1;
	if (!size)
		return 0;
	tree_write(to, bytes, size, (gsize)at);
	tree_touch(file->entry);
	return (gssize)size;
}

gssize files_write(int fd, const void *bytes, gsize size)
{
	File *file = file_of(fd);
	Open *open = descriptor_open(fd);
	gssize n;

	if (!open)
		return syscall(SYS_write, fd, bytes, size);
	if (!file)
		return open->kind->write ? open->kind->write(open, bytes, size)
					 : descriptor_fail(EINVAL);
	if (file->open.flags & O_APPEND)
		files_seek(fd, 0, SEEK_END);
	n = files_pwrite(fd, bytes, size, file->at);
	file->at += MAX(n, 0);
	return n;
}

off_t files_seek(int fd, off_t by, int whence)
{
	File *file = file_of(fd);
	const GByteArray *bytes = file ? file->entry->file->bytes : NULL;

	if (!file)
		return syscall(SYS_lseek, fd, by, whence);
	file->at = by + (whence == SEEK_CUR	       ? file->at
			 : whence == SEEK_END && bytes ? (off_t)bytes->len
						       : 0);
	return file->at;
}

int files_truncate(int fd, off_t size)
{
	const File *file = file_of(fd);
	GByteArray *bytes = file ? bytes_of(file, O_WRONLY) : NULL;

	if (!file)
		return (int)syscall(SYS_ftruncate, fd, size);
	if (!bytes)
		return -1;
	tree_set_size(bytes, (gsize)size);
	tree_touch(file->entry);
	return 0;
}

/* ---- names ---- */

int files_stat(int dir, const char *path, struct stat *st, int flags)
{
	const Open *open = !*path && flags & AT_EMPTY_PATH ? descriptor_open(dir) : NULL;
	TreeEntry *entry;

	if (open && !files_has(dir)) {
		*st = (struct stat){ .st_mode = open->mode };
		return 0;
	}
	if (open)
		entry = files_entry(dir);
	else if (!files_find_entry(dir, path, !(flags & AT_SYMLINK_NOFOLLOW), &entry))
		return (int)syscall(SYS_newfstatat, dir, path, st, flags);
	if (!entry)
		return -1;
	tree_stat(entry->file, st);
	return 0;
}

gboolean files_exists(int dir, const char *path)
{
	struct stat st;

	return files_stat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int files_mkdir(int dir, const char *path, mode_t mode)
{
	TreePlace place;
	gboolean ok;

	if (!files_find(dir, path, FALSE, &place, &ok))
		return (int)syscall(SYS_mkdirat, dir, path, mode);
	if (!ok)
		return -1;
	if (place.entry)
		return descriptor_fail(EEXIST);
	tree_make(&place, S_IFDIR | (mode & ~mask));
	return 0;
}

int files_unlink(int dir, const char *path, int flags)
{
	TreeEntry *entry;

	if (!files_find_entry(dir, path, FALSE, &entry))
		return (int)syscall(SYS_unlinkat, dir, path, flags);
	return entry && tree_remove(entry, flags & AT_REMOVEDIR) ? 0 : -1;
}

int files_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	TreeEntry *entry;
	TreePlace place;
	gboolean ok;

	if (!files_find_entry(from_dir, from, FALSE, &entry))
		return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	if (!entry)
		return -1;
	if (!files_find(to_dir, to, FALSE, &place, &ok))
		return descriptor_fail(EXDEV);
	return ok && tree_rename(entry, &place, !(flags & RENAME_NOREPLACE)) ? 0 : -1;
}

/* ---- sockets ---- */

/* The file has the mode of the socket. */
static int place_bind(const TreePlace *place, int fd)
{
	TreeEntry *entry;

	if (place->entry)
		return descriptor_fail(EADDRINUSE);
	entry = tree_make(place, S_IFSOCK | (descriptor_open(fd)->mode & 07777 & ~mask));
	sockets_bind(fd, entry->file->number);
	return 0;
}

/* Returns FALSE with errno for an address that the world does not have. */
static gboolean address_find(const struct sockaddr *address, TreePlace *place)
{
	const struct sockaddr_un *un = (gconstpointer)address;
	gboolean ok;

	if (files_find(AT_FDCWD, un->sun_path, TRUE, place, &ok))
		return ok;
	errno = ENOENT;
	return FALSE;
}

int files_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	TreePlace place;

	if (!sockets_has(fd))
		return (int)syscall(SYS_bind, fd, address, size);
	return address_find(address, &place) ? place_bind(&place, fd) : -1;
}

int files_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	TreePlace place;

	if (!sockets_has(fd))
		return (int)syscall(SYS_connect, fd, address, size);
	if (!address_find(address, &place))
		return -1;
	return place.entry ? sockets_connect(fd, place.entry->file->number)
			   : descriptor_fail(ENOENT);
}
