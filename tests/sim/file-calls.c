/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libc about files that are no effects (calls.c), for files of the tree and all
 * others. */
#undef _FILE_OFFSET_BITS /* both stat() and stat64() are defined here */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "files.h"
#include "notify.h"

int close(int fd)
{
	return files_close(fd);
}

off_t lseek(int fd, off_t by, int whence)
{
	return files_seek(fd, by, whence);
}

off64_t lseek64(int fd, off64_t by, int whence)
{
	return files_seek(fd, by, whence);
}

int flock(int fd, int operation)
{
	return files_lock(fd, operation);
}

/* GLib calls it only before it writes a whole file, so the size follows from the writes. */
int fallocate(int fd, int mode, off_t at, off_t size)
{
	return files_has(fd) ? 0 : (int)syscall(SYS_fallocate, fd, mode, at, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t size)
{
	return fallocate(fd, mode, at, size);
}

/* Locks always succeed: SQLite's locks exclude other processes, and there are none. */
static int control(int fd, int command, void *argument)
{
	Open *open = descriptor_open(fd);

	if (!open)
		return (int)syscall(SYS_fcntl, fd, command, argument);
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return descriptor_new(open);
	case F_GETFL:
		return open->flags;
	case F_SETFL:
		open->flags =
			(open->flags & ~O_NONBLOCK) | (GPOINTER_TO_INT(argument) & O_NONBLOCK);
		return 0;
	case F_GETLK:
		((struct flock *)argument)->l_type = F_UNLCK;
		return 0;
	default:
		return 0;
	}
}

#define FCNTL(function)                                                                            \
	int function(int fd, int command, ...)                                                     \
	{                                                                                          \
		va_list args;                                                                      \
		void *argument;                                                                    \
                                                                                                   \
		va_start(args, command);                                                           \
		argument = va_arg(args, void *);                                                   \
		va_end(args);                                                                      \
		return control(fd, command, argument);                                             \
	}

FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- attributes of files ---- */

#define STAT(type, suffix)                                                                         \
	int fstatat##suffix(int dir, const char *path, struct type *st, int flags)                 \
	{                                                                                          \
		return files_stat(dir, path, (struct stat *)st, flags);                            \
	}                                                                                          \
                                                                                                   \
	int stat##suffix(const char *path, struct type *st)                                        \
	{                                                                                          \
		return files_stat(AT_FDCWD, path, (struct stat *)st, 0);                           \
	}                                                                                          \
                                                                                                   \
	int lstat##suffix(const char *path, struct type *st)                                       \
	{                                                                                          \
		return files_stat(AT_FDCWD, path, (struct stat *)st, AT_SYMLINK_NOFOLLOW);         \
	}                                                                                          \
                                                                                                   \
	int fstat##suffix(int fd, struct type *st)                                                 \
	{                                                                                          \
		return files_stat(fd, "", (struct stat *)st, AT_EMPTY_PATH);                       \
	}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "two layouts");
STAT(stat, )
STAT(stat64, 64)

int fstatfs(int fd, struct statfs *fs)
{
	return files_stat_system(fd, fs);
}

_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "two layouts");
int fstatfs64(int fd, struct statfs64 *fs)
{
	return files_stat_system(fd, (struct statfs *)fs);
}

/* Root may do everything except execute. */
int faccessat(int dir, const char *path, int mode, int flags)
{
	struct stat st;

	if (files_stat(dir, path, &st, flags & AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return mode & X_OK && S_ISREG(st.st_mode) && !(st.st_mode & 0111) ? descriptor_fail(EACCES)
									  : 0;
}

int access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, 0);
}

static void entry_set_mode(TreeEntry *entry, mode_t mode)
{
	entry->file->mode = (entry->file->mode & S_IFMT) | (mode & 07777);
}

int fchmod(int fd, mode_t mode)
{
	Open *open = descriptor_open(fd);

	if (!open)
		return (int)syscall(SYS_fchmod, fd, mode);
	if (files_has(fd))
		entry_set_mode(files_entry(fd), mode);
	else
		open->mode = (open->mode & S_IFMT) | (mode & 07777);
	return 0;
}

int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	TreeEntry *entry;

	if (!files_find_entry(dir, path, TRUE, &entry))
		return (int)syscall(SYS_fchmodat, dir, path, mode);
	if (!entry)
		return -1;
	entry_set_mode(entry, mode);
	return 0;
}

int chmod(const char *path, mode_t mode)
{
	return fchmodat(AT_FDCWD, path, mode, 0);
}

/* All files belong to root. */
int fchown(int fd, uid_t user, gid_t group)
{
	return files_has(fd) ? 0 : (int)syscall(SYS_fchown, fd, user, group);
}

/* ---- links ---- */

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	TreeEntry *entry;
	TreePlace place;
	gboolean ok;

	if (!files_find_entry(from_dir, from, flags & AT_SYMLINK_FOLLOW, &entry))
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	if (!entry)
		return -1;
	if (!files_find(to_dir, to, FALSE, &place, &ok))
		return descriptor_fail(EXDEV);
	return ok && tree_link(entry->file, &place) ? 0 : -1;
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int symlink(const char *target, const char *path)
{
	TreePlace place;
	gboolean ok;

	if (!files_find(AT_FDCWD, path, FALSE, &place, &ok))
		return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
	if (!ok || place.entry)
		return ok ? descriptor_fail(EEXIST) : -1;
	tree_make(&place, S_IFLNK | 0777)->file->target = g_strdup(target);
	return 0;
}

/* Copies the target of a link, or of a descriptor in /proc/self/fd. */
static gssize target_copy(const TreeEntry *entry, gboolean is_self, char *target, gsize size)
{
	char path[PATH_MAX];
	gsize n;

	if (is_self)
		tree_entry_path(entry, path, sizeof(path));
	else if (S_ISLNK(entry->file->mode))
		g_strlcpy(path, entry->file->target, sizeof(path));
	else
		return descriptor_fail(EINVAL);
	n = MIN(strlen(path), size);
	memcpy(target, path, n);
	return (gssize)n;
}

ssize_t readlinkat(int dir, const char *path, char *target, size_t size)
{
	const gboolean is_self =
		g_str_has_prefix(path, "/proc/self/fd/") && !strchr(path + 14, '/');
	TreeEntry *entry;

	if (!*path && files_has(dir))
		return target_copy(files_entry(dir), FALSE, target, size);
	if (!files_find_entry(dir, path, FALSE, &entry))
		return syscall(SYS_readlinkat, dir, path, target, size);
	return entry ? target_copy(entry, is_self, target, size) : -1;
}

ssize_t readlink(const char *path, char *target, size_t size)
{
	return readlinkat(AT_FDCWD, path, target, size);
}

/* ---- directories ---- */

/* A directory stream of the tree, passed as the DIR of opendir(). */
typedef struct {
	int fd;
	GPtrArray *names;
	guint next;
	struct dirent64 entry;
} Listing;

static GSList *listings;

static Listing *listing_of(DIR *dir)
{
	return g_slist_find(listings, dir) ? (Listing *)dir : NULL;
}

#define REAL(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

static void listing_read(Listing *listing)
{
	const TreeEntry *entry = files_entry(listing->fd)->file->newest;

	listing->names = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(listing->names, g_strdup("."));
	g_ptr_array_add(listing->names, g_strdup(".."));
	for (; entry; entry = entry->older)
		g_ptr_array_add(listing->names, g_strdup(entry->name));
}

DIR *fdopendir(int fd)
{
	Listing *listing;

	if (!files_has(fd))
		return REAL(fdopendir)(fd);
	if (!S_ISDIR(files_entry(fd)->file->mode)) {
		errno = ENOTDIR;
		return NULL;
	}
	listing = g_new0(Listing, 1);
	listing->fd = fd;
	listings = g_slist_prepend(listings, listing);
	return (DIR *)listing;
}

DIR *opendir(const char *path)
{
	const int fd = files_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	return fd < 0 ? NULL : fdopendir(fd);
}

/* Returns the names at the time of the first call, as one system call would. */
struct dirent64 *readdir64(DIR *dir)
{
	Listing *listing = listing_of(dir);

	if (!listing)
		return REAL(readdir64)(dir);
	if (!listing->names)
		listing_read(listing);
	if (listing->next == listing->names->len)
		return NULL;
	listing->entry.d_ino = 1;
	g_strlcpy(listing->entry.d_name, listing->names->pdata[listing->next++],
		  sizeof(listing->entry.d_name));
	return &listing->entry;
}

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "two layouts");
struct dirent *readdir(DIR *dir)
{
	return (struct dirent *)readdir64(dir);
}

int dirfd(DIR *dir)
{
	const Listing *listing = listing_of(dir);

	return listing ? listing->fd : REAL(dirfd)(dir);
}

int closedir(DIR *dir)
{
	Listing *listing = listing_of(dir);

	if (!listing)
		return REAL(closedir)(dir);
	listings = g_slist_remove(listings, listing);
	close(listing->fd);
	if (listing->names)
		g_ptr_array_unref(listing->names);
	g_free(listing);
	return 0;
}

/* ---- streams ---- */

static ssize_t stream_read(void *cookie, char *bytes, size_t size)
{
	return read(GPOINTER_TO_INT(cookie), bytes, size);
}

static int stream_close(void *cookie)
{
	return close(GPOINTER_TO_INT(cookie));
}

/* Used by GLib to read an empty file. */
FILE *fdopen(int fd, const char *mode)
{
	const cookie_io_functions_t functions = { .read = stream_read, .close = stream_close };

	return files_has(fd) ? fopencookie(GINT_TO_POINTER(fd), mode, functions)
			     : REAL(fdopen)(fd, mode);
}

/* ---- events ---- */

int inotify_init1(int flags)
{
	return notify_new(flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	TreeEntry *entry;

	if (!files_find_entry(AT_FDCWD, path, TRUE, &entry))
		return descriptor_fail(ENOENT);
	return entry ? notify_add(fd, entry, mask) : -1;
}

int inotify_rm_watch(int fd, int descriptor)
{
	return notify_remove(fd, descriptor);
}

/* ---- other calls ---- */

mode_t umask(mode_t mask)
{
	files_set_umask(mask);
	return (mode_t)syscall(SYS_umask, mask);
}

/* libc has no function for openat2().  As in libc, six arguments are read, although there may be
 * fewer; ASan would report them. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) __attribute__((no_sanitize("address")));
long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (guint i = 0; i < G_N_ELEMENTS(a); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number != SYS_openat2 || !files_has((int)a[0]))
		return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return files_open_below((int)a[0], (const char *)a[1],
				(int)((const struct open_how *)a[2])->flags);
}
