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
	return TRUE;
}

static gboolean content_check(const GString *all, const char *path, GError **error)
{
	if (all->len > PLUGIN_MAX)
		return invalid(error, path, "larger than 1 MiB");
	if (all->len < sizeof(Elf64_Ehdr) || memcmp(all->str, ELFMAG, SELFMAG) != 0)
		return invalid(error, path, "not a shared object");
	return TRUE;
}

GBytes *nccl_env_plugin_load(const char *path, GError **error)
{
	g_autoptr(GString) all = g_string_new(NULL);
	rdmad_autofd int fd = -1;
	struct stat st;

	if (!g_path_is_absolute(path))
		return invalid(error, path, "not an absolute path"), NULL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", path), NULL;
	if (!file_check(&st, path, error))
		return NULL;
	if (!rdmad_fd_read_all(fd, PLUGIN_MAX, all))
		return rdmad_error_errno(error, errno, "cannot read %s", path), NULL;
	return content_check(all, path, error) ? g_string_free_to_bytes(g_steal_pointer(&all))
					       : NULL;
}
