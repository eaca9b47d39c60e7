/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory watch: notifies of names that are created, removed or renamed in a directory, and of
 * the directory itself
 *
 * The watch uses inotify(7) on the directory or, while it is missing, on its nearest existing
 * ancestor. If inotify fails (its limits, some filesystems), `fn` is called once a second instead.
 */
#pragma once

#include <rdmad/types.h>

/* `fn` is called 10 ms after a change, once for changes in that time, or without a change; it reads
 * the directory itself. */
RDMAD_API RdmadDirectoryWatch *rdmad_directory_watch_new(RdmadLoop *loop, RdmadModule *owner,
							 const char *path,
							 void (*fn)(gpointer data),
							 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Does nothing if `watch` is NULL. */
RDMAD_API void rdmad_directory_watch_free(RdmadDirectoryWatch *watch);
