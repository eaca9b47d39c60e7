/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/sysroot.h>

/* `path` NULL or "/": this machine. */
RdmadSysroot *rdmad_sysroot_new(const char *path, GError **error);
void rdmad_sysroot_free(RdmadSysroot *root);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadSysroot, rdmad_sysroot_free)
