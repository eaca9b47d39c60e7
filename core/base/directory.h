/* SPDX-License-Identifier: Apache-2.0 */
/* The directories that rdmad writes to. */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Makes `path` with its parents where it is missing, gives it `mode`, and returns its descriptor.
 * Rejects a symbolic link, a file that is not a directory, and one that belongs to neither root nor
 * us or that others may write to.  -1: RDMAD_ERROR_FAILED. */
int rdmad_directory_open(const char *path, mode_t mode, RdmadDiskLife life, GError **error);
gboolean rdmad_directory_prepare(const char *path, mode_t mode, RdmadDiskLife life, GError **error);
