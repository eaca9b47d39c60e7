/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder watch: something in a folder changed, or the folder itself came or went
 *
 * By inotify on the folder, or while it is missing on the nearest one above it that is there; by
 * looking once a second where inotify fails (its limits, some file systems).
 */
#pragma once

#include <rdmad/module.h>

typedef struct RdmadFolderWatch RdmadFolderWatch;

/* `fn` is told a moment after a change, once for many; what changed it finds out itself. */
RdmadFolderWatch *rdmad_folder_watch_new(RdmadModule *self, const char *path,
					 void (*fn)(gpointer data), gpointer data);
void rdmad_folder_watch_free(RdmadFolderWatch *watch);
