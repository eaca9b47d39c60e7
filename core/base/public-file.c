/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/public-file.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/disk.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/stat.h>

/* Readers of the directory ignore unfinished files: they are hidden and lack the expected
 * suffix. */
#define UNFINISHED_SUFFIX ".tmp"

static char *unfinished_name(const char *name)
{
	return g_strconcat(".", name, UNFINISHED_SUFFIX, NULL);
}

gboolean rdmad_public_file_is_unfinished(const char *name)
{
	return name[0] == '.' && g_str_has_suffix(name, UNFINISHED_SUFFIX);
}

void rdmad_public_file_clean(int dir, const char *name)
{
	g_autofree char *unfinished = unfinished_name(name);

	unlinkat(dir, unfinished, 0);
}

/* A file that cannot be read is written again. */
static gboolean file_says(int dir, const char *name, GBytes *bytes, mode_t mode)
{
	gsize size;
	gconstpointer data = g_bytes_get_data(bytes, &size);
	rdmad_autofd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	g_autoptr(GString) text = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 07777) != mode ||
	    (gsize)st.st_size != size)
		return FALSE;
	text = g_string_sized_new(size);
	return rdmad_fd_read_all(fd, size, text) && text->len == size &&
	       memcmp(text->str, data, size) == 0;
}

static gboolean file_fill(int fd, GBytes *bytes, mode_t mode)
{
	gsize size;
	gconstpointer data = g_bytes_get_data(bytes, &size);

	return rdmad_fd_write_all(fd, data, size) && fchmod(fd, mode) == 0;
}

static int unfinished_make(int dir, const char *name)
{
	return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static gboolean file_replace(int dir, const char *path, const char *name, GBytes *bytes,
			     mode_t mode, RdmadDiskLife life, GError **error)
{
	g_autofree char *unfinished = unfinished_name(name);
	rdmad_autofd int fd = unfinished_make(dir, unfinished);

	/* A killed process left a file.  Replace it by a new inode: a reader may have it open. */
	if (fd < 0 && errno == EEXIST && unlinkat(dir, unfinished, 0) == 0)
		fd = unfinished_make(dir, unfinished);
	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot make a file in %s", path);
	if (file_fill(fd, bytes, mode) && rdmad_disk_replace(dir, unfinished, name, fd, life) == 0)
		return TRUE;
	rdmad_error_errno(error, errno, "cannot write %s/%s", path, name);
	unlinkat(dir, unfinished, 0);
	return FALSE;
}

gboolean rdmad_public_file_write_bytes(int dir, const char *path, const char *name, GBytes *bytes,
				       mode_t mode, RdmadDiskLife life, GError **error)
{
	return file_says(dir, name, bytes, mode) ||
	       file_replace(dir, path, name, bytes, mode, life, error);
}

gboolean rdmad_public_file_write(int dir, const char *path, const char *name, const char *text,
				 mode_t mode, RdmadDiskLife life, GError **error)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text));

	return rdmad_public_file_write_bytes(dir, path, name, bytes, mode, life, error);
}

static gboolean dir_make(const char *path, GError **error)
{
	g_autofree char *parent = g_path_get_dirname(path);

	if (access(path, F_OK) == 0)
		return TRUE;
	if (parent[1] && !dir_make(parent, error))
		return FALSE;
	if (rdmad_disk_mkdir(AT_FDCWD, path, 0700, RDMAD_DISK_FOR_GOOD) < 0 && errno != EEXIST)
		return rdmad_error_errno(error, errno, "cannot make the directory %s", path);
	if (chmod(path, 0755) < 0)
		return rdmad_error_errno(error, errno, "cannot give %s the mode 0755", path);
	return TRUE;
}

int rdmad_public_dir_open(const char *path, int flags, GError **error)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0 && errno == ENOENT) {
		if (!dir_make(path, error))
			return -1;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	}
	if (fd < 0)
		rdmad_error_errno(error, errno, "cannot open the directory %s", path);
	return fd;
}
