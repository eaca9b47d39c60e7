/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted files: those that only root and our own user could have written
 *
 * The file and every directory above it belong to root or to us and are not writable by group or
 * others.  A sticky directory (/tmp) may stand above, because nobody can replace what we own in it,
 * but not hold the file itself.  The path is resolved first and walked without following links, and
 * the checked file is the open one: no name is resolved twice.
 */
#pragma once

#include <glib.h>

/*
 * A descriptor (O_RDONLY, O_CLOEXEC) of the regular file `name` in `directory`, or -1.
 * RDMAD_ERROR_NOT_FOUND: there is none; RDMAD_ERROR_INVALID: it is not to be trusted;
 * RDMAD_ERROR_FAILED.
 */
int rdmad_trusted_file_open(const char *directory, const char *name, GError **error);
