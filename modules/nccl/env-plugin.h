/* SPDX-License-Identifier: Apache-2.0 */
/* Environment plugin: libnccl-env.so as it is put into the directories of allocations. */
#pragma once

#include <glib.h>

/*
 * The file at an absolute path.  RDMAD_ERROR_INVALID: it is no shared object, larger than 1 MiB, or others
 * than root and rdmad's own user may write it: containers run what is in it; RDMAD_ERROR_FAILED.
 */
GBytes *nccl_env_plugin_load(const char *path, GError **error);
