/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "hardware/device.h"

#define LIST_MAX      65536u
#define ATTRIBUTE_MAX 4096
#define NAMES_SIZE    512 /* of the names of most directories, with their NULs */
/* openat2() returns EAGAIN when a concurrent rename or mount races with a "..". */
#define OPEN_TRIES 64

struct RdmadSysroot {
	int fd;
	gboolean live;
	char *path; /* NULL: this machine, or not mounted anywhere */
};

static __thread int passing_error;

static void note_error(int errnum)
{
	if (rdmad_errno_may_pass(errnum))
		passing_error = errnum;
}

int rdmad_sysroot_passing_error(void)
{
	const int errnum = passing_error;

	passing_error = 0;
	return errnum;
}

gboolean rdmad_sysroot_in_doubt(void)
{
	return passing_error != 0;
}

static gboolean is_same_file(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

RdmadSysroot *rdmad_sysroot_new(const char *path, GError **error)
{
	RdmadSysroot *root;
	rdmad_autofd int fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		rdmad_error_errno(error, errno, "sysroot %s", path ? path : "/");
		return NULL;
	}
	root = g_new0(RdmadSysroot, 1);
	root->live = is_same_file(fd, "/");
	root->path = root->live ? NULL : g_canonicalize_filename(path, NULL);
	root->fd = rdmad_steal_fd(&fd);
	return root;
}

RdmadSysroot *rdmad_sysroot_new_live(GError **error)
{
	return rdmad_sysroot_new(NULL, error);
}

RdmadSysroot *rdmad_sysroot_new_sysfs(GError **error)
{
	rdmad_autofd int context = fsopen("sysfs", FSOPEN_CLOEXEC);
	rdmad_autofd int mounted = -1;
	RdmadSysroot *root;

	if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mounted = fsmount(context, FSMOUNT_CLOEXEC,
				  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					  MOUNT_ATTR_NOEXEC);
	if (mounted < 0) {
		rdmad_error_errno(error, errno, "cannot mount sysfs");
		return NULL;
	}
	root = g_new0(RdmadSysroot, 1);
	root->fd = rdmad_steal_fd(&mounted);
	return root;
}

void rdmad_sysroot_free(RdmadSysroot *root)
{
	if (!root)
		return;
	close(root->fd);
	g_free(root->path);
	g_free(root);
}

const char *rdmad_sysroot_path(const RdmadSysroot *root)
{
	return root->path;
}

gboolean rdmad_sysroot_is_live(const RdmadSysroot *root)
{
	return root->live;
}

static gboolean set_error(GError **error, int errnum, const char *path)
{
	RdmadError code = RDMAD_ERROR_FAILED;

	note_error(errnum);
	if (errnum == ENOENT || errnum == ENODEV || errnum == ENXIO)
		code = RDMAD_ERROR_NOT_FOUND;
	else if (errnum == EISDIR || errnum == ENOTDIR || errnum == ELOOP || errnum == ENAMETOOLONG)
		code = RDMAD_ERROR_INVALID;
	if (error)
		g_set_error(error, RDMAD_ERROR, code, "%s: %s", path, g_strerror(errnum));
	errno = errnum;
	return FALSE;
}

/* Builds the path only for the error: a scan reads tens of thousands of files. */
static gboolean file_failed(const char *dir_path, const char *name, int errnum, GError **error)
{
	g_autofree char *path = error ? g_strconcat(dir_path, "/", name, NULL) : NULL;

	return set_error(error, errnum, path);
}

static int open_at(const RdmadSysroot *root, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (guint64)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	/* valgrind does not support openat2(); in the real root no path can leave the root. */
	if (fd < 0 && errno == ENOSYS && root->live)
		fd = openat(root->fd, path, flags | O_CLOEXEC);
	return fd;
}

int rdmad_sysroot_open(const RdmadSysroot *root, const char *path, int flags, GError **error)
{
	const int fd = open_at(root, path, flags);

	if (fd < 0)
		set_error(error, errno, path);
	return fd;
}

/* O_NONBLOCK: a FIFO or device in place of an attribute must not block a worker. */
static int open_regular(const RdmadSysroot *root, const char *path, int flags, GError **error)
{
	struct stat st;
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, flags | O_NONBLOCK | O_NOCTTY, error);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0) {
		set_error(error, errno, path);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		set_error(error, EISDIR, path);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: not a regular file",
			    path);
		return -1;
	}
	return rdmad_steal_fd(&fd);
}

/* Strips NULs at the end, with which some drivers pad; a NUL elsewhere means that the value is not
 * text. */
static gsize stripped_length(const char *raw, gsize len)
{
	while (len > 0 && (raw[len - 1] == '\0' || g_ascii_isspace(raw[len - 1])))
		len--;
	return len;
}

/* `name` is relative to `dir_path`, which may be NULL. */
static gboolean check_text(const char *raw, gsize len, const char *dir_path, const char *name,
			   GError **error)
{
	if (!memchr(raw, '\0', len))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s%s%s: not text",
		    dir_path ? dir_path : "", dir_path ? "/" : "", name);
	return FALSE;
}

char *rdmad_sysroot_read(const RdmadSysroot *root, const char *path, GError **error)
{
	g_autoptr(GString) text = NULL;
	rdmad_autofd int fd = open_regular(root, path, O_RDONLY, error);

	if (fd < 0)
		return NULL;
	text = g_string_new(NULL);
	if (!rdmad_fd_read_all(fd, RDMAD_SYSROOT_MAX, text)) {
		set_error(error, errno, path);
		return NULL;
	}
	if (text->len > RDMAD_SYSROOT_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: more than %u bytes", path,
			    RDMAD_SYSROOT_MAX);
		return NULL;
	}
	g_string_truncate(text, stripped_length(text->str, text->len));
	if (!check_text(text->str, text->len, NULL, path, error))
		return NULL;
	return g_utf8_make_valid(text->str, (gssize)text->len);
}

gboolean rdmad_sysroot_read_int(const RdmadSysroot *root, const char *path, gint64 *value,
				GError **error)
{
	g_autofree char *text = rdmad_sysroot_read(root, path, error);
	char *end = NULL;
	gint64 number;

	if (!text)
		return FALSE;
	errno = 0;
	number = g_ascii_strtoll(text, &end, g_str_has_prefix(text, "0x") ? 16 : 10);
	if (errno || end == text || *end || g_ascii_isspace(*text)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: \"%.32s\" is not a number", path, text);
		return FALSE;
	}
	*value = number;
	return TRUE;
}

/* Returns the target of the link that the descriptor refers to; NULL with errno. */
static char *read_link(int dirfd, const char *path)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(dirfd, path, target, sizeof(target));

	if (n < 0)
		return NULL;
	if ((gsize)n == sizeof(target)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return g_strndup(target, (gsize)n);
}

/* Returns the path that the kernel resolved; NULL with errno. */
static char *path_of(int fd)
{
	char link[sizeof("/proc/self/fd/") + 11];

	g_snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_link(AT_FDCWD, link);
}

char *rdmad_sysroot_link_name(const RdmadSysroot *root, const char *path, GError **error)
{
	struct stat st;
	g_autofree char *target = NULL;
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_PATH | O_NOFOLLOW, error);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: not a link", path);
		return NULL;
	}
	target = read_link(fd, "");
	if (!target) {
		set_error(error, errno, path);
		return NULL;
	}
	return g_path_get_basename(target);
}

char *rdmad_sysroot_link_name_at(int dir, const char *dir_path, const char *name, GError **error)
{
	g_autofree char *target = read_link(dir, name);

	if (target)
		return g_path_get_basename(target);
	file_failed(dir_path, name, errno, error);
	return NULL;
}

char *rdmad_sysroot_path_of(const RdmadSysroot *root, int fd, char **base, const char *path,
			    GError **error)
{
	g_autofree char *full = path_of(fd);
	gsize skip;

	if (full && !*base)
		*base = path_of(root->fd);
	if (!full || !*base) {
		set_error(error, errno, path);
		return NULL;
	}
	skip = strlen(*base);
	if (!g_str_has_prefix(full, *base)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: not below the root",
			    path);
		return NULL;
	}
	while (full[skip] == '/')
		skip++;
	return g_strdup(full + skip);
}

char *rdmad_sysroot_resolve(const RdmadSysroot *root, const char *path, GError **error)
{
	g_autofree char *base = NULL;
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_PATH, error);

	return fd < 0 ? NULL : rdmad_sysroot_path_of(root, fd, &base, path, error);
}

char *rdmad_sysroot_program(const RdmadSysroot *root, const char *path, GError **error)
{
	rdmad_autofd int fd = -1;
	char *full;

	if (root->live)
		return g_strdup(path);
	fd = rdmad_sysroot_open(root, path + 1, O_PATH, error);
	if (fd < 0)
		return NULL;
	full = path_of(fd);
	if (!full)
		set_error(error, errno, path);
	return full;
}

static gboolean is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* `chunk` NULL: allocates each name. */
static gboolean list_names(DIR *dir, GPtrArray *names, GStringChunk *chunk, const char *path,
			   GError **error)
{
	const struct dirent *entry;

	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (is_dot(entry->d_name))
			continue;
		if (names->len == LIST_MAX) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "%s: more than %u entries", path, LIST_MAX);
			errno = E2BIG;
			return FALSE;
		}
		g_ptr_array_add(names, chunk ? g_string_chunk_insert(chunk, entry->d_name)
					     : g_strdup(entry->d_name));
	}
	return errno ? set_error(error, errno, path) : TRUE;
}

/* Takes `fd`, which is -1 after an error. */
static DIR *open_stream(int fd, const char *path, GError **error)
{
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0) {
		const int errnum = errno;

		close(fd);
		set_error(error, errnum, path);
	}
	return dir;
}

static DIR *open_dir(const RdmadSysroot *root, const char *path, GError **error)
{
	return open_stream(rdmad_sysroot_open(root, path, O_RDONLY | O_DIRECTORY, error), path,
			   error);
}

static int open_dir_at(int dir, const char *name, int flags)
{
	return openat(dir, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* `path` is that of the directory itself. */
static DIR *open_stream_at(int dir, const char *name, const char *path, GError **error)
{
	const int fd = open_dir_at(dir, name, O_RDONLY);

	if (fd < 0)
		set_error(error, errno, path);
	return open_stream(fd, path, error);
}

static GPtrArray *read_names(DIR *dir, GStringChunk *chunk, const char *path, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(chunk ? NULL : g_free);

	if (!list_names(dir, names, chunk, path, error))
		return NULL;
	g_ptr_array_sort(names, rdmad_natural_compare_entries);
	return g_steal_pointer(&names);
}

/* Takes `dir`, which is NULL after an error. */
static char **list(DIR *dir, const char *path, GError **error)
{
	GPtrArray *names = dir ? read_names(dir, NULL, path, error) : NULL;
	const int errnum = errno;

	if (dir)
		closedir(dir);
	errno = errnum;
	if (!names)
		return NULL;
	g_ptr_array_add(names, NULL);
	g_ptr_array_set_free_func(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

char **rdmad_sysroot_list(const RdmadSysroot *root, const char *path, GError **error)
{
	return list(open_dir(root, path, error), path, error);
}

char **rdmad_sysroot_list_at(int dir, const char *dir_path, const char *name, GError **error)
{
	g_autofree char *path = g_strconcat(dir_path, "/", name, NULL);

	return list(open_stream_at(dir, name, path, error), path, error);
}

int rdmad_sysroot_open_dir(const RdmadSysroot *root, const char *path)
{
	/* O_PATH: names are resolved below it, and nothing is opened to be read. */
	const int fd = open_at(root, path, O_PATH | O_DIRECTORY);

	if (fd < 0)
		note_error(errno);
	return fd;
}

int rdmad_sysroot_open_dir_at(int dir, const char *name)
{
	const int fd = open_dir_at(dir, name, O_PATH);

	if (fd < 0)
		note_error(errno);
	return fd;
}

gboolean rdmad_sysroot_glance(const RdmadSysroot *root, const char *path, struct stat *st)
{
	return fstatat(root->fd, path, st, 0) == 0;
}

/* O_NOFOLLOW: the file must be in this directory. */
int rdmad_sysroot_open_file_at(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Reads once: sysfs returns a whole attribute, and regenerates it at offset 0. */
static ssize_t read_start(int fd, char *raw, gsize size)
{
	ssize_t n;

	do {
		n = pread(fd, raw, size, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ESPIPE)
		errno = EBADMSG; /* not a regular file, such as a FIFO */
	return n;
}

static ssize_t read_once(int dirfd, const char *name, char *raw, gsize size)
{
	rdmad_autofd int fd = rdmad_sysroot_open_file_at(dirfd, name);

	return fd < 0 ? -1 : read_start(fd, raw, size);
}

gssize rdmad_sysroot_read_file(int fd, char *text, gsize size)
{
	const ssize_t n = read_start(fd, text, size);
	gsize len;

	if (n < 0)
		return -1;
	len = stripped_length(text, (gsize)n);
	if ((gsize)n == size || memchr(text, '\0', len)) {
		errno = EBADMSG;
		return -1;
	}
	text[len] = '\0';
	return (gssize)len;
}

gssize rdmad_sysroot_read_at(int dir, const char *name, char *text, gsize size)
{
	rdmad_autofd int fd = rdmad_sysroot_open_file_at(dir, name);

	return fd < 0 ? -1 : rdmad_sysroot_read_file(fd, text, size);
}

static gboolean is_ascii(const char *text, gsize len)
{
	guchar bits = 0;

	for (gsize i = 0; i < len; i++)
		bits |= (guchar)text[i];
	return bits < 0x80;
}

static void make_valid(char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE])
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	g_strlcpy(text, valid, RDMAD_SYSROOT_ATTRIBUTE_SIZE);
}

gboolean rdmad_sysroot_read_attribute(int dir, const char *dir_path, const char *name,
				      char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE], GError **error)
{
	const ssize_t n = read_once(dir, name, text, ATTRIBUTE_MAX + 1);
	gsize len;

	if (n < 0)
		return file_failed(dir_path, name, errno, error);
	if (n > ATTRIBUTE_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s/%s: more than %d bytes",
			    dir_path, name, ATTRIBUTE_MAX);
		return FALSE;
	}
	len = stripped_length(text, (gsize)n);
	if (!check_text(text, len, dir_path, name, error))
		return FALSE;
	text[len] = '\0';
	/* Nearly all attributes are, which is seen faster than that they are UTF-8. */
	if (!is_ascii(text, len))
		make_valid(text);
	return TRUE;
}

/* Takes `dir`, which is NULL after an error. */
static gboolean read_all(DIR *dir, const char *path, RdmadSysrootFunc fn, gpointer data,
			 GError **error)
{
	g_autoptr(GStringChunk) chunk = g_string_chunk_new(NAMES_SIZE);
	g_autoptr(GPtrArray) names = dir ? read_names(dir, chunk, path, error) : NULL;
	char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE];

	for (guint i = 0; names && i < names->len; i++) {
		const char *name = names->pdata[i];
		g_autoptr(GError) local = NULL;
		const gboolean known =
			rdmad_sysroot_read_attribute(dirfd(dir), path, name, text, &local);

		fn(name, known ? text : NULL, local, data);
	}
	if (dir)
		closedir(dir);
	return names != NULL;
}

gboolean rdmad_sysroot_read_dir(const RdmadSysroot *root, const char *path, RdmadSysrootFunc fn,
				gpointer data, GError **error)
{
	return read_all(open_dir(root, path, error), path, fn, data, error);
}

gboolean rdmad_sysroot_read_dir_at(int dir, const char *dir_path, const char *name,
				   RdmadSysrootFunc fn, gpointer data, GError **error)
{
	g_autofree char *path = g_strconcat(dir_path, "/", name, NULL);

	return read_all(open_stream_at(dir, name, path, error), path, fn, data, error);
}

gboolean rdmad_sysroot_exists(const RdmadSysroot *root, const char *path)
{
	rdmad_autofd int fd = open_at(root, path, O_PATH);

	if (fd < 0)
		note_error(errno);
	return fd >= 0;
}

gboolean rdmad_sysroot_write(const RdmadSysroot *root, const char *path, const char *value,
			     GError **error)
{
	const gsize len = strlen(value);
	rdmad_autofd int fd = open_regular(root, path, O_WRONLY | O_TRUNC, error);
	ssize_t n;

	if (fd < 0)
		return FALSE;
	/* Writes once: the kernel takes each write() as a separate value. */
	do {
		n = write(fd, value, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return set_error(error, errno, path);
	if ((gsize)n != len)
		return set_error(error, EIO, path);
	return TRUE;
}

int rdmad_sysroot_watch(const RdmadSysroot *root, int inotify, const char *path, guint32 events)
{
	rdmad_autofd int fd = open_at(root, path, O_PATH);
	g_autofree char *self = g_strdup_printf("/proc/self/fd/%d", fd);

	return fd < 0 ? -1 : inotify_add_watch(inotify, self, events);
}

static int open_named_program(const RdmadSysroot *root, pid_t pid)
{
	g_autofree char *path = g_strdup_printf("proc/%d/cmdline", (int)pid);
	rdmad_autofd int fd = open_at(root, path, O_RDONLY);
	char name[PATH_MAX];
	const gssize n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);

	if (n <= 0 || name[0] != '/')
		return -1;
	name[n] = '\0';
	return open_regular(root, name + 1, O_RDONLY, NULL);
}

int rdmad_sysroot_open_program(const RdmadSysroot *root, pid_t pid)
{
	g_autofree char *path = g_strdup_printf("proc/%d/exe", (int)pid);
	/* A magic link of the kernel, which open_at() does not follow. */
	const int fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : open_named_program(root, pid);
}
