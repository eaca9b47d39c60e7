/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify, for files of the tree
 *
 * The descriptor is one of the kernel's, so that epoll has it: an eventfd, readable while there are events.  As in the
 * kernel an event that equals the last one is not added, numbers of watches are not given again, and a watch ends
 * with its file.
 *
 * Measured on Linux 6.18: ext4 and tmpfs tell of all changes.  cgroup2 tells of a directory that a process makes or removes
 * to who watches the one above, and of what the kernel writes into a file; who watches a cgroup hears nothing of its
 * end, and the watch stays.  sysfs tells nothing of what the kernel does.
 */
#pragma once

#include "tree.h"

int notify_new(int flags);
/* Whether a descriptor is one. */
gboolean notify_is(int fd);
void notify_close(int fd);
/* -1 with errno. */
int notify_add(int fd, TreeEntry *entry, guint32 mask);
int notify_remove(int fd, int descriptor);
gssize notify_read(int fd, void *bytes, gsize size);

/* ---- from the tree ---- */

/* To those who watch its directory. */
void notify_name(const TreeEntry *entry, guint32 event);
void notify_file(const TreeFile *file, guint32 event);
/* It has no name any more, and nobody has it open: all watches of it are over. */
void notify_file_ended(TreeFile *file);
