/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory watch: something in a directory changed, or the directory itself came or went
 *
 * By inotify on the directory, or while it is missing on the nearest one above it that is there; by
 * looking once a second where inotify fails (its limits, some filesystems).
 */
#pragma once

#include <rdmad/types.h>

/* `fn` is called a moment after a change, once for many; it has to find out which. */
RDMAD_API RdmadDirectoryWatch *rdmad_directory_watch_new(RdmadLoop *loop, RdmadModule *owner,
							 const char *path,
							 void (*fn)(gpointer data),
							 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_directory_watch_free(RdmadDirectoryWatch *watch);
