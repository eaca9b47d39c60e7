/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted files: files that only root or rdmad's user can have written
 *
 * The file and every directory above it belong to root or to rdmad's user and are not writable by
 * group or others.  A sticky directory (/tmp) may be above, because others cannot replace entries
 * that rdmad owns there, but it may not contain the file itself.  The path is resolved first and
 * then walked without following links.  The opened file is checked, so that no name is resolved
 * twice.
 */
#pragma once

#include <glib.h>

/*
 * Returns a descriptor (O_PATH, O_CLOEXEC) of an absolute path, or -1 if the directory is not
 * trusted or a symbolic link is in the path.
 */
int rdmad_trusted_directory_open(const char *directory, GError **error);

/*
 * Returns a descriptor (O_RDONLY, O_CLOEXEC) of the regular file `name` in `directory`, or -1.
 * RDMAD_ERROR_NOT_FOUND: no such file; RDMAD_ERROR_INVALID: it is not trusted;
 * RDMAD_ERROR_FAILED.
 */
int rdmad_trusted_file_open(const char *directory, const char *name, GError **error);
