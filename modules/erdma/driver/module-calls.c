/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/module-calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/sysroot.h>
#include <sys/syscall.h>

#include "driver/module-index.h"

#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4 /* of kernel 5.17 */
#endif

static gboolean file_insert(const RdmadSysroot *root, const char *path, const char *parameter,
			    GError **error)
{
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_RDONLY, error);
	const int flags = g_str_has_suffix(path, ".ko") ? 0 : MODULE_INIT_COMPRESSED_FILE;

	if (fd < 0)
		return FALSE;
	return syscall(SYS_finit_module, fd, parameter ?: "", flags) == 0 || errno == EEXIST ||
	       rdmad_error_errno(error, errno, "the kernel does not take /%s%s", path,
				 errno == EPERM ? " (its log may say why)" : "");
}

gboolean erdma_module_insert(const RdmadSysroot *root, const char *module, const char *parameter,
			     GError **error)
{
	g_auto(GStrv) paths = erdma_module_index_order(root, module, error);

	for (guint i = 0; paths && paths[i]; i++)
		if (!file_insert(root, paths[i], paths[i + 1] ? NULL : parameter, error))
			return FALSE;
	return paths != NULL;
}

gboolean erdma_module_remove(const char *module, GError **error)
{
	if (syscall(SYS_delete_module, module, O_NONBLOCK) == 0 || errno == ENOENT)
		return TRUE;
	rdmad_error_errno(error, errno, "the kernel does not give up %s", module);
	if (error && (errno == EWOULDBLOCK || errno == EBUSY))
		(*error)->code = RDMAD_ERROR_BUSY;
	return FALSE;
}
