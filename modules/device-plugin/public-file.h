/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders for others to read, whatever the umask
 *
 * Readers see a file's old text or its new one, never a part.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Writes `text` beside `path` and renames it.  RDMAD_ERROR_NOT_FOUND: no such folder;
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_public_file_write(const char *path, const char *text, mode_t mode, GError **error);
/* Makes what is missing of an absolute path, with mode 0755.  RDMAD_ERROR_FAILED. */
gboolean rdmad_public_folder_make(const char *path, GError **error);
