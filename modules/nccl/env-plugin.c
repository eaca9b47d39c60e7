/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the environment plugin. */
#include "settings.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLUGIN_MAX (1u << 20)

static gboolean invalid(GError **error, const char *path, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s", path, why);
	return FALSE;
}

static gboolean file_check(const struct stat *st, const char *path, GError **error)
{
	if (!S_ISREG(st->st_mode))
		return invalid(error, path, "not a file");
	if ((st->st_uid != 0 && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH)))
		return invalid(error, path, "others than root and rdmad's user may write it");
	return st->st_size <= (off_t)PLUGIN_MAX || invalid(error, path, "larger than 1 MiB");
}

/* Stops after the limit, so that a file that grows meanwhile is rejected. */
static GByteArray *read_all(int fd)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	guint8 part[16384];
	ssize_t n = 1;

	while (n != 0 && all->len <= PLUGIN_MAX) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		g_byte_array_append(all, part, (guint)n);
	}
	return g_steal_pointer(&all);
}

static gboolean content_check(const GByteArray *all, const char *path, GError **error)
{
	if (all->len > PLUGIN_MAX)
		return invalid(error, path, "larger than 1 MiB");
	if (all->len < sizeof(Elf64_Ehdr) || memcmp(all->data, ELFMAG, SELFMAG) != 0)
		return invalid(error, path, "not a shared object");
	return TRUE;
}

GBytes *nccl_env_plugin_load(const char *path, GError **error)
{
	g_autoptr(GByteArray) all = NULL;
	rdmad_autofd int fd = -1;
	struct stat st;

	if (!g_path_is_absolute(path))
		return invalid(error, path, "not an absolute path"), NULL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", path), NULL;
	if (!file_check(&st, path, error))
		return NULL;
	all = read_all(fd);
	if (!all)
		return rdmad_error_errno(error, errno, "cannot read %s", path), NULL;
	return content_check(all, path, error) ? g_byte_array_free_to_bytes(g_steal_pointer(&all))
					       : NULL;
}
