/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"
#include "turns.h"

#define FIRST	0x100000 /* above the kernel's descriptors */
#define SELF_FD "/proc/self/fd/"

/* An open file description; several descriptors may refer to it. */
typedef struct {
	TreeEntry *entry;
	int flags, lock;
	off_t at;
	guint refs;
} File;

static GPtrArray *files; /* of File, or NULL; the descriptor's number is the index + FIRST */
static guint n_open;
static guint64 n_closed;
static mode_t mask = 022;

int files_fail(int errnum)
{
	errno = errnum;
	return -1;
}

static File *file_of(int fd)
{
	const guint index = (guint)(fd - FIRST);

	return fd >= FIRST && files && index < files->len ? files->pdata[index] : NULL;
}

gboolean files_has(int fd)
{
	return file_of(fd) != NULL;
}

guint files_open(void)
{
	return n_open;
}

guint64 files_closed(void)
{
	return n_closed;
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

static int descriptor_new(File *file)
{
	guint index = 0;

	if (!files)
		files = g_ptr_array_new();
	while (index < files->len && files->pdata[index])
		index++;
	if (index == files->len)
		g_ptr_array_add(files, NULL);
	files->pdata[index] = file;
	file->refs++;
	n_open++;
	return FIRST + (int)index;
}

static int entry_open(TreeEntry *entry, int flags)
{
	const mode_t mode = entry->file->mode;
	const gboolean writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
	File *file;

	if (S_ISLNK(mode) && !(flags & O_PATH))
		return files_fail(ELOOP);
	if (flags & O_DIRECTORY && !S_ISDIR(mode))
		return files_fail(ENOTDIR);
	if (S_ISDIR(mode) && writes)
		return files_fail(EISDIR);
	if (S_ISSOCK(mode) && !(flags & O_PATH))
		return files_fail(ENXIO);
	if (flags & O_TRUNC && writes) {
		g_byte_array_set_size(entry->file->bytes, 0);
		tree_touch(entry);
	}
	file = g_new0(File, 1);
	file->entry = tree_entry_ref(entry);
	file->flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	return descriptor_new(file);
}

static int place_open(const TreePlace *place, int flags, mode_t mode)
{
	if (place->entry && flags & O_CREAT && flags & O_EXCL)
		return files_fail(EEXIST);
	if (place->entry)
		return entry_open(place->entry, flags);
	if (!(flags & O_CREAT))
		return files_fail(ENOENT);
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

int files_dup(int fd)
{
	return descriptor_new(file_of(fd));
}

int files_close(int fd)
{
	File *file = file_of(fd);

	if (!file) {
		turns_stir();
		n_closed++;
		if (notify_is(fd))
			notify_close(fd);
		return (int)syscall(SYS_close, fd);
	}
	files->pdata[fd - FIRST] = NULL;
	n_open--;
	if (--file->refs == 0) {
		tree_entry_unref(file->entry);
		g_free(file);
	}
	return 0;
}

int files_flags(int fd)
{
	return file_of(fd)->flags;
}

/* Returns whether another description holds a conflicting lock. */
static gboolean is_locked(const File *by, int kind)
{
	for (guint i = 0; i < files->len; i++) {
		const File *other = files->pdata[i];

		if (other && other != by && other->entry->file == by->entry->file && other->lock &&
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
		return files_fail(EWOULDBLOCK);
	file->lock = kind == LOCK_UN ? 0 : kind;
	return 0;
}

/* ---- contents ---- */

/* Returns NULL with errno if the file is not open for this access, or has no contents. */
static GByteArray *bytes_of(const File *file, int access)
{
	const int mode = file->flags & O_ACCMODE;

	if (file->flags & O_PATH || (mode != O_RDWR && mode != access)) {
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
	n = at < (off_t)from->len ? MIN(size, from->len - (gsize)at) : 0;
	if (n)
		memcpy(bytes, from->data + at, n);
	return (gssize)n;
}

gssize files_read(int fd, void *bytes, gsize size)
{
	File *file = file_of(fd);
	gssize n;

	if (!file) {
		turns_stir();
		return notify_is(fd) ? notify_read(fd, bytes, size)
				     : syscall(SYS_read, fd, bytes, size);
	}
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
	gssize n;

	if (!file) {
		turns_stir();
		return syscall(SYS_write, fd, bytes, size);
	}
	if (file->flags & O_APPEND)
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
	TreeEntry *entry;

	if (!*path && flags & AT_EMPTY_PATH && files_has(dir))
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
		return files_fail(EEXIST);
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
		return files_fail(EXDEV);
	return ok && tree_rename(entry, &place, !(flags & RENAME_NOREPLACE)) ? 0 : -1;
}

/* ---- sockets ---- */

static socklen_t address_of(const TreeFile *file, struct sockaddr_un *un)
{
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	g_strlcpy(un->sun_path + 1, file->target, sizeof(un->sun_path) - 1);
	return (socklen_t)(G_STRUCT_OFFSET(struct sockaddr_un, sun_path) + 1 +
			   strlen(file->target));
}

/* Binds to an abstract name of the kernel, and gives the file the mode of the socket. */
static int place_bind(const TreePlace *place, int fd)
{
	struct sockaddr_un own;
	socklen_t size;
	struct stat st;
	TreeEntry *entry;

	if (place->entry)
		return files_fail(EADDRINUSE);
	if (fstat(fd, &st) < 0)
		return -1;
	entry = tree_make(place, S_IFSOCK | (st.st_mode & 07777 & ~mask));
	entry->file->target = g_strdup_printf("simulated-%ld-%ld", syscall(SYS_getpid),
					      (long)entry->file->number);
	size = address_of(entry->file, &own);
	return (int)syscall(SYS_bind, fd, &own, size);
}

static gboolean address_find(const struct sockaddr *address, TreePlace *place, gboolean *ok)
{
	const struct sockaddr_un *un = (gconstpointer)address;

	return address->sa_family == AF_UNIX && *un->sun_path &&
	       files_find(AT_FDCWD, un->sun_path, TRUE, place, ok);
}

int files_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	TreePlace place;
	gboolean ok;

	if (!address_find(address, &place, &ok))
		return (int)syscall(SYS_bind, fd, address, size);
	return ok ? place_bind(&place, fd) : -1;
}

int files_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	struct sockaddr_un un;
	TreePlace place;
	gboolean ok;

	if (!address_find(address, &place, &ok))
		return (int)syscall(SYS_connect, fd, address, size);
	if (!ok || !place.entry)
		return ok ? files_fail(ENOENT) : -1;
	if (!S_ISSOCK(place.entry->file->mode))
		return files_fail(ECONNREFUSED);
	size = address_of(place.entry->file, &un);
	return (int)syscall(SYS_connect, fd, &un, size);
}
