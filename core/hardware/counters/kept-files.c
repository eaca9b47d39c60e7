/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/kept-files.h"

#include <errno.h>
#include <linux/magic.h>
#include <rdmad/clock.h>
#include <rdmad/fd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* File times have a resolution of up to 10 ms, so a directory may change twice without a new
 * time. */
#define SETTLED_US (100 * G_GINT64_CONSTANT(1000))

/* ---- the files ---- */

static void file_close(RdmadKeptFiles *kept, guint i)
{
	if (!kept->files || kept->files[i] < 0)
		return;
	rdmad_clear_fd(&kept->files[i]);
	rdmad_file_budget_give(kept->budget);
}

static void files_close(RdmadKeptFiles *kept)
{
	for (guint i = 0; i < kept->n_files; i++)
		file_close(kept, i);
}

void rdmad_kept_files_init(RdmadKeptFiles *kept, char *path)
{
	*kept = (RdmadKeptFiles){ .path = path, .fd = -1 };
}

void rdmad_kept_files_expect(RdmadKeptFiles *kept, guint n)
{
	files_close(kept);
	g_clear_pointer(&kept->files, g_free);
	kept->n_files = n;
}

/* The array is allocated with the first file, because hundreds of devices may get none. */
static void keep_file(RdmadKeptFiles *kept, guint i, int *fd)
{
	if (!kept->files) {
		kept->files = g_new(int, kept->n_files);
		for (guint k = 0; k < kept->n_files; k++)
			kept->files[k] = -1;
	}
	kept->files[i] = rdmad_steal_fd(fd);
}

void rdmad_kept_files_clear(RdmadKeptFiles *kept)
{
	rdmad_kept_files_expect(kept, 0);
	rdmad_kept_files_end(kept);
	g_clear_pointer(&kept->budget, rdmad_file_budget_unref);
	g_clear_pointer(&kept->path, g_free);
}

/* ---- the directory ---- */

static gint64 changed_us(const struct stat *st)
{
	return st->st_mtim.tv_sec * G_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;
}

static gboolean is_same(const RdmadKeptFiles *kept, const struct stat *st)
{
	return kept->device == st->st_dev && kept->inode == st->st_ino &&
	       kept->changed_us == changed_us(st);
}

static gboolean is_any_open(const RdmadKeptFiles *kept)
{
	for (guint i = 0; kept->files && i < kept->n_files; i++)
		if (kept->files[i] >= 0)
			return TRUE;
	return FALSE;
}

/* Records a directory that is new or whose entries changed. */
static void directory_set(RdmadKeptFiles *kept, const struct stat *st)
{
	struct statfs fs;
	const gboolean known = kept->fd >= 0 && fstatfs(kept->fd, &fs) == 0;

	files_close(kept);
	kept->device = st->st_dev;
	kept->inode = st->st_ino;
	kept->changed_us = changed_us(st);
	kept->sysfs = known && fs.f_type == SYSFS_MAGIC;
	kept->memory = known && fs.f_type == TMPFS_MAGIC;
}

/* Returns whether files are open of the directory that has the path now, by one system call. */
static gboolean is_in_place(const RdmadKeptFiles *kept, const RdmadSysroot *root)
{
	struct stat st;

	return is_any_open(kept) && rdmad_sysroot_glance(root, kept->path, &st) &&
	       is_same(kept, &st);
}

/* Returns 0 or an errno. */
static int directory_open(RdmadKeptFiles *kept, const RdmadSysroot *root, gboolean *same)
{
	struct stat st;

	kept->fd = rdmad_sysroot_open_dir(root, kept->path);
	if (kept->fd < 0 || fstat(kept->fd, &st) < 0)
		return errno;
	*same = is_same(kept, &st);
	if (!*same)
		directory_set(kept, &st);
	return 0;
}

static gboolean may_keep(const RdmadKeptFiles *kept)
{
	if (!kept->budget || rdmad_file_budget_is_exceeded(kept->budget))
		return FALSE;
	if (kept->sysfs)
		return TRUE;
	return kept->memory && rdmad_wall_us() - kept->changed_us > SETTLED_US;
}

static void use_budget(RdmadKeptFiles *kept, RdmadFileBudget *budget)
{
	if (kept->budget == budget)
		return;
	files_close(kept);
	g_clear_pointer(&kept->budget, rdmad_file_budget_unref);
	kept->budget = budget ? rdmad_file_budget_ref(budget) : NULL;
}

int rdmad_kept_files_begin(RdmadKeptFiles *kept, const RdmadSysroot *root, RdmadFileBudget *budget,
			   gboolean *same)
{
	gboolean unchanged = TRUE;
	int errnum = 0;

	use_budget(kept, budget);
	if (!is_in_place(kept, root))
		errnum = directory_open(kept, root, &unchanged);
	if (errnum) {
		files_close(kept);
		rdmad_kept_files_end(kept);
		return errnum;
	}
	kept->keeps = may_keep(kept);
	if (!kept->keeps)
		files_close(kept);
	if (same)
		*same = unchanged;
	return 0;
}

void rdmad_kept_files_end(RdmadKeptFiles *kept)
{
	if (kept->fd >= 0)
		rdmad_clear_fd(&kept->fd);
}

/* Returns a descriptor of the recorded directory, or -1 with errno. */
static int directory_of(RdmadKeptFiles *kept, const RdmadSysroot *root)
{
	struct stat st;

	if (kept->fd >= 0)
		return kept->fd;
	kept->fd = rdmad_sysroot_open_dir(root, kept->path);
	if (kept->fd < 0 || fstat(kept->fd, &st) < 0)
		return -1;
	if (is_same(kept, &st))
		return kept->fd;
	rdmad_kept_files_end(kept);
	errno = ENOENT; /* the next round starts with the new directory */
	return -1;
}

static gssize read_unkept(RdmadKeptFiles *kept, const RdmadSysroot *root, guint i, const char *name,
			  char *text, gsize size)
{
	const int dir = directory_of(kept, root);
	rdmad_autofd int fd = dir >= 0 ? rdmad_sysroot_open_file_at(dir, name) : -1;
	const gssize n = fd >= 0 ? rdmad_sysroot_read_file(fd, text, size) : -1;
	const int errnum = n < 0 ? errno : 0;

	if (fd >= 0 && kept->keeps && errnum != ENODEV && rdmad_file_budget_take(kept->budget))
		keep_file(kept, i, &fd);
	rdmad_clear_fd(&fd);
	errno = errnum;
	return n;
}

gssize rdmad_kept_files_read(RdmadKeptFiles *kept, const RdmadSysroot *root, guint i,
			     const char *name, char *text, gsize size)
{
	gssize n;

	if (!kept->files || kept->files[i] < 0)
		return read_unkept(kept, root, i, name, text, size);
	n = rdmad_sysroot_read_file(kept->files[i], text, size);
	if (n >= 0 || errno != ENODEV)
		return n;
	/* The device or the attribute was removed: read the file that is there now. */
	file_close(kept, i);
	return read_unkept(kept, root, i, name, text, size);
}
