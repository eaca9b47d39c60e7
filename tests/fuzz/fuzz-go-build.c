/* SPDX-License-Identifier: Apache-2.0 */
/* Any program file: a version that is found is well-formed. */
#include <rdmad/fd.h>
#include <sys/mman.h>

#include "base/go-build.h"

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size);

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
	rdmad_autofd int fd = memfd_create("program", MFD_CLOEXEC);
	g_autofree char *version = NULL;

	if (fd < 0 || write(fd, data, size) != (gssize)size)
		return 0;
	version = rdmad_go_build_version(fd, "k8s.io/kubernetes");
	g_assert_true(!version || (version[0] == 'v' && g_ascii_isdigit(version[1])));
	return 0;
}
