/* SPDX-License-Identifier: Apache-2.0 */
/* Files that others read while we write them: they see the old text or the new one, never a part. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Writes `text` beside `path` and renames it.  RDMAD_ERROR_NOT_FOUND: no such folder;
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_atomic_file_write(const char *path, const char *text, mode_t mode, GError **error);
