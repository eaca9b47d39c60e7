/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the database: checks before it is opened, and setting a damaged one aside */
#include "service/state-private.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/clock.h>
#include <rdmad/disk.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/stat.h>

#define ASIDE_TRIES 100u
#define PAGE_MIN    512 /* smallest page of SQLite */
/* The offset of the write version in SQLite's header, and its highest value. */
#define WRITE_VERSION_AT 18
#define WAL_VERSION	 2
#define USER_VERSION_AT	 60

static const char *const parts[] = { "", "-wal", "-shm" };

static gboolean any_part_exists(const char *path)
{
	gboolean found = FALSE;

	for (guint i = 0; i < G_N_ELEMENTS(parts) && !found; i++) {
		g_autofree char *file = g_strconcat(path, parts[i], NULL);
		struct stat st;

		found = lstat(file, &st) == 0;
	}
	return found;
}

/* Returns an unused name beside the old one, with the time. */
static char *aside_path(const char *path, const char *how)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(rdmad_wall_us() / G_USEC_PER_SEC);
	g_autofree char *when = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
	char *aside = g_strdup_printf("%s.%s-%s", path, how, when);

	for (guint i = 2; i < ASIDE_TRIES && any_part_exists(aside); i++) {
		g_free(aside);
		aside = g_strdup_printf("%s.%s-%s.%u", path, how, when, i);
	}
	return aside;
}

static gboolean part_move(const char *path, const char *aside, const char *part, GError **error)
{
	g_autofree char *from = g_strconcat(path, part, NULL);
	g_autofree char *to = g_strconcat(aside, part, NULL);

	if (rdmad_disk_move(from, to) == 0 || errno == ENOENT)
		return TRUE;
	return rdmad_error_errno(error, errno, "cannot set %s aside as %s", from, to);
}

gboolean rdmad_state_file_set_aside(const char *path, const char *how, char **set_aside,
				    GError **error)
{
	g_autofree char *aside = aside_path(path, how);

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		if (!part_move(path, aside, parts[i], error))
			return FALSE;
	g_free(*set_aside);
	*set_aside = g_steal_pointer(&aside);
	return TRUE;
}

/* Checks the size, because SQLite silently treats a file of a few bytes as an empty database. */
static gboolean file_fits(const struct stat *st, const char *part)
{
	return S_ISREG(st->st_mode) && (*part || st->st_size == 0 || st->st_size >= PAGE_MIN);
}

/* Sets `*fits` if the file is missing or may be a database. */
static gboolean part_check(const char *path, const char *part, gboolean *fits, GError **error)
{
	g_autofree char *file = g_strconcat(path, part, NULL);
	struct stat st;

	if (lstat(file, &st) < 0) {
		*fits = errno == ENOENT;
		return *fits || rdmad_error_errno(error, errno, "cannot read %s", file);
	}
	*fits = file_fits(&st, part);
	if (!S_ISLNK(st.st_mode))
		return TRUE;
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		"%s is a symbolic link, which rdmad does not follow; give the directory that it "
		"leads to with --state-dir, or remove it",
		file);
	return FALSE;
}

gboolean rdmad_state_file_identify(const char *path, const char *part, RdmadStateFile *file,
				   GError **error)
{
	g_autofree char *name = g_strconcat(path, part, NULL);
	struct stat st;

	*file = (RdmadStateFile){ 0 };
	if (lstat(name, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ||
		       rdmad_error_errno(error, errno, "cannot read %s", name);
	*file = (RdmadStateFile){ st.st_dev, st.st_ino };
	return TRUE;
}

gboolean rdmad_state_file_equal(const RdmadStateFile *a, const RdmadStateFile *b)
{
	return a->device == b->device && a->inode == b->inode;
}

gboolean rdmad_state_file_forbids_writing(const char *path)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	guint8 version;

	return fd >= 0 && pread(fd, &version, 1, WRITE_VERSION_AT) == 1 && version > WAL_VERSION;
}

gboolean rdmad_state_file_read_version(const char *path, guint *version)
{
	rdmad_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	guint32 stored;

	if (fd < 0 || pread(fd, &stored, sizeof(stored), USER_VERSION_AT) != sizeof(stored))
		return FALSE;
	*version = GUINT32_FROM_BE(stored);
	return TRUE;
}

gboolean rdmad_state_file_rewrite_log(const char *path, GError **error)
{
	g_autofree char *log = g_strconcat(path, "-wal", NULL);
	rdmad_autofd int fd = open(log, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || rdmad_error_errno(error, errno, "cannot open %s", log);
	return rdmad_disk_rewrite(fd) == 0 ||
	       rdmad_error_errno(error, errno, "cannot write %s again", log);
}

/* An empty file is an empty database. */
static gboolean file_create(const char *path, GError **error)
{
	rdmad_autofd int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", path);
	if (fchmod(fd, 0600) < 0)
		return rdmad_error_errno(error, errno, "cannot make %s private", path);
	return TRUE;
}

gboolean rdmad_state_file_prepare(const char *path, char **set_aside, GError **error)
{
	gboolean fits = TRUE;

	for (guint i = 0; i < G_N_ELEMENTS(parts) && fits; i++)
		if (!part_check(path, parts[i], &fits, error))
			return FALSE;
	if (!fits && !rdmad_state_file_set_aside(path, "damaged", set_aside, error))
		return FALSE;
	return file_create(path, error);
}
