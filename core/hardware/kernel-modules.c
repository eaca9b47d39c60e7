/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/kernel-modules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/sysroot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4 /* of kernel 5.17 */
#endif

#define LINE_MAX_BYTES 65536 /* limit for a module and its dependencies */
#define FILE_MAX_BYTES (64u * 1024 * 1024)

/* modules.dep: "kernel/net/smc/smc.ko.xz: kernel/..." */
typedef struct {
	char *dir; /* "lib/modules/6.12.95" */
	FILE *file;
	char *line;
	gsize room, read;
} Index;

static void index_clear(Index *index)
{
	g_clear_pointer(&index->file, fclose);
	g_free(index->dir);
	free(index->line);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Index, index_clear)

static gboolean index_open(Index *index, const RdmadSysroot *root, GError **error)
{
	g_autofree char *release = rdmad_sysroot_read(root, "proc/sys/kernel/osrelease", error);
	g_autofree char *path = NULL;
	rdmad_autofd int fd = -1;

	if (!release)
		return FALSE;
	index->dir = g_strdup_printf("lib/modules/%s", release);
	path = g_strdup_printf("%s/modules.dep", index->dir);
	fd = rdmad_sysroot_open(root, path, O_RDONLY, error);
	if (fd < 0)
		return FALSE;
	index->file = fdopen(fd, "r");
	if (!index->file)
		return rdmad_error_errno(error, errno, "cannot read %s", path);
	rdmad_steal_fd(&fd);
	return TRUE;
}

/* Returns the next line without its newline; NULL at the end of the file, or with an error. */
static char *index_next(Index *index, GError **error)
{
	ssize_t n;

	errno = 0;
	n = getline(&index->line, &index->room, index->file);
	if (n < 0) {
		if (ferror(index->file))
			rdmad_error_errno(error, errno, "cannot read %s/modules.dep", index->dir);
		return NULL;
	}
	index->read += (gsize)n;
	if (n > LINE_MAX_BYTES || index->read > FILE_MAX_BYTES) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s/modules.dep is larger than any that depmod writes", index->dir);
		return NULL;
	}
	return g_strchomp(index->line);
}

/* Compares names; a file may have "-" where the module has "_". */
static gboolean line_is_of(const char *line, const char *name)
{
	const char *end = strchr(line, ':');
	const char *base = line;
	gsize i;

	for (const char *at = line; end && at < end; at++)
		if (*at == '/')
			base = at + 1;
	for (i = 0; name[i] && base[i] != '\0'; i++)
		if (base[i] != name[i] && !(name[i] == '_' && base[i] == '-'))
			return FALSE;
	return end && name[i] == '\0' && g_str_has_prefix(base + i, ".ko") &&
	       (base[i + 3] == '.' || base[i + 3] == ':');
}

gboolean rdmad_kernel_modules_find(const RdmadSysroot *root, const char *const *names,
				   RdmadKernelModuleFile *files, GError **error)
{
	g_auto(Index) index = { 0 };
	g_autoptr(GError) wrong = NULL;
	const gboolean open = index_open(&index, root, &wrong);
	const char *line;

	for (guint i = 0; names[i]; i++)
		files[i] = open ? RDMAD_KERNEL_MODULE_MISSING : RDMAD_KERNEL_MODULE_UNKNOWN;
	while (open && (line = index_next(&index, &wrong)))
		for (guint i = 0; names[i]; i++)
			if (line_is_of(line, names[i]))
				files[i] = RDMAD_KERNEL_MODULE_THERE;
	if (!wrong || g_error_matches(wrong, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&wrong));
	return FALSE;
}

/* Returns the files in the order of insertion, which is the reverse of modules.dep. */
static char **line_order(const char *dir, char *line)
{
	GPtrArray *paths = g_ptr_array_new();
	g_auto(GStrv) words = NULL;

	*strchr(line, ':') = ' ';
	words = g_strsplit_set(line, " ", -1);
	for (guint i = g_strv_length(words); i-- > 0;)
		if (words[i][0] != '\0')
			g_ptr_array_add(paths, words[i][0] == '/'
						       ? g_strdup(words[i] + 1)
						       : g_build_filename(dir, words[i], NULL));
	g_ptr_array_add(paths, NULL);
	return (char **)g_ptr_array_free(paths, FALSE);
}

char **rdmad_kernel_modules_order(const RdmadSysroot *root, const char *name, GError **error)
{
	g_auto(Index) index = { 0 };
	g_autoptr(GError) wrong = NULL;
	char *line;

	if (!index_open(&index, root, error))
		return NULL;
	while ((line = index_next(&index, &wrong)))
		if (line_is_of(line, name))
			return line_order(index.dir, line);
	if (wrong)
		g_propagate_error(error, g_steal_pointer(&wrong));
	else
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "%s/modules.dep has no module %s", index.dir, name);
	return NULL;
}

/* ---- insert and remove ---- */

static gboolean file_insert(const RdmadSysroot *root, const char *path, const char *parameter,
			    GError **error)
{
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_RDONLY, error);
	const int flags = g_str_has_suffix(path, ".ko") ? 0 : MODULE_INIT_COMPRESSED_FILE;

	if (fd < 0)
		return FALSE;
	return syscall(SYS_finit_module, fd, parameter ?: "", flags) == 0 || errno == EEXIST ||
	       rdmad_error_errno(error, errno, "the kernel rejects /%s%s", path,
				 errno == EPERM ? " (its log may say why)" : "");
}

gboolean rdmad_kernel_module_insert(const RdmadSysroot *root, const char *module,
				    const char *parameter, GError **error)
{
	g_auto(GStrv) paths = rdmad_kernel_modules_order(root, module, error);

	for (guint i = 0; paths && paths[i]; i++)
		if (!file_insert(root, paths[i], paths[i + 1] ? NULL : parameter, error))
			return FALSE;
	return paths != NULL;
}

gboolean rdmad_kernel_module_remove(const char *module, GError **error)
{
	if (syscall(SYS_delete_module, module, O_NONBLOCK) == 0 || errno == ENOENT)
		return TRUE;
	rdmad_error_errno(error, errno, "the kernel does not give up %s", module);
	if (error && (errno == EWOULDBLOCK || errno == EBUSY))
		(*error)->code = RDMAD_ERROR_BUSY;
	return FALSE;
}
