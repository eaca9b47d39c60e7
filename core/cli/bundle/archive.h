/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed tar file (.tar.gz), written sequentially */
#pragma once

#include <rdmad/types.h>

/* Maximal uncompressed size.  Files beyond it are left out and listed in `left-out`. */
#define ARCHIVE_MAX (64u << 20)

typedef struct Archive Archive;

/* Creates the file with mode 0600.  An existing file is an error. */
Archive *archive_new(const char *path, GError **error);
/* A second entry with the same path is ignored.  Parent directories need no entry. */
void archive_file(Archive *archive, const char *path, const void *content, gsize size);
void archive_link(Archive *archive, const char *path, const char *target);
void archive_directory(Archive *archive, const char *path);
/* Adds a line to the file `left-out`. */
void archive_note(Archive *archive, const char *path, const char *reason);
gboolean archive_has(const Archive *archive, const char *path);
/* Frees the archive.  Removes the file after an error of this or an earlier call. */
gboolean archive_finish(Archive *archive, GError **error);
