/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/io.h"
#include "shim/message.h"

#define RECORD_MAX (sizeof(CniSpoolHead) + CNI_SHIM_ENVIRONMENT_MAX + CNI_SHIM_INPUT_MAX)

char **cni_spool_list(const char *directory, GError **error)
{
	g_autoptr(GStrvBuilder) records = g_strv_builder_new();
	g_auto(GStrv) names = rdmad_fd_list(AT_FDCWD, directory);

	if (!names && errno == ENOENT)
		return g_new0(char *, 1);
	if (!names) {
		rdmad_error_errno(error, errno, "cannot list %s", directory);
		return NULL;
	}
	for (char **name = names; *name; name++)
		if (cni_spooled_name_check(*name))
			g_strv_builder_add(records, *name);
	return g_strv_builder_end(records);
}

/* Returns whether open() has found a symbolic link, a socket or a device.  Other errors may pass. */
static gboolean is_no_file(int errnum)
{
	return errnum == ELOOP || errnum == ENXIO || errnum == ENODEV;
}

static gboolean refuse(const char *path, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s is not a record", path);
	return FALSE;
}

gboolean cni_spool_read(const char *directory, const char *name, CniMessage *message,
			GError **error)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autoptr(GString) bytes = g_string_new(NULL);
	rdmad_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && is_no_file(errno))
		return refuse(path, error);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (S_ISREG(st.st_mode) && !rdmad_fd_read_all(fd, RECORD_MAX, bytes)))
		return rdmad_error_errno(error, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || bytes->len > RECORD_MAX)
		return refuse(path, error);
	return cni_spooled_read((const guint8 *)bytes->str, bytes->len, message, error);
}

gboolean cni_spool_remove(const char *directory, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	return unlink(path) == 0 || errno == ENOENT ||
	       rdmad_error_errno(error, errno, "cannot remove %s", path);
}
