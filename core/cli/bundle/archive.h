/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed tar file (.tar.gz) that is written once, from its beginning to its end. */
#pragma once

#include <rdmad/types.h>

/* Uncompressed; later files are left out, and noted. */
#define ARCHIVE_MAX (64u << 20)

typedef struct Archive Archive;

/* Makes the file, mode 0600; one that is there already is an error. */
Archive *archive_new(const char *path, GError **error);
/* Each path once: a second entry of it is ignored.  Directories above it need no entry. */
void archive_file(Archive *archive, const char *path, const void *content, gsize size);
void archive_link(Archive *archive, const char *path, const char *target);
void archive_directory(Archive *archive, const char *path);
/* A line of the file `left-out`. */
void archive_note(Archive *archive, const char *path, const char *reason);
gboolean archive_has(const Archive *archive, const char *path);
/* Frees the archive.  After an error, also one of an earlier call, there is no file. */
gboolean archive_finish(Archive *archive, GError **error);
