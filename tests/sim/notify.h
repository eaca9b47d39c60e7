/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify for files of the tree
 *
 * The descriptor is an eventfd of the kernel, so that epoll can watch it; it is readable while
 * there are events.  As in the kernel, an event equal to the last one is not added, watch
 * descriptors are not reused, and a watch ends with its file.
 *
 * Measured on Linux 6.18: ext4 and tmpfs report all changes.  cgroup2 reports a directory that a
 * process creates or removes to watches of its parent, and writes of the kernel to a file; a watch
 * of a removed cgroup gets no event and stays.  sysfs reports nothing that the kernel does.
 */
#pragma once

#include "tree.h"

int notify_new(int flags);
/* Returns whether the descriptor is an inotify descriptor. */
gboolean notify_is(int fd);
void notify_close(int fd);
/* Returns -1 with errno on failure. */
int notify_add(int fd, TreeEntry *entry, guint32 mask);
int notify_remove(int fd, int descriptor);
gssize notify_read(int fd, void *bytes, gsize size);

/* ---- events of the tree ---- */

/* Reports an event to the watches of the entry's directory. */
void notify_name(const TreeEntry *entry, guint32 event);
void notify_file(const TreeFile *file, guint32 event);
/* Call when a file has no name any more and is not open. */
void notify_file_ended(TreeFile *file);
