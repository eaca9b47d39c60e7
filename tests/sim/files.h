/* SPDX-License-Identifier: Apache-2.0 */
/* System calls about files: handled here for files of the tree (tree.h) and for other descriptors
 * of the world (descriptors.h), else passed to the kernel.  Effects and errors of the disk are
 * handled above, in calls.c. */
#pragma once

#include "tree.h"
#include <sys/socket.h>
#include <sys/vfs.h>

/* Returns whether a descriptor belongs to the tree. */
gboolean files_has(int fd);
/* Returns the path of a descriptor of the tree, in the form of /proc/self/fd; "": not of the
 * tree. */
const char *files_path(int fd, char *path, gsize size);
/* Resolves a path in the tree.  Returns FALSE if the path belongs to the kernel.  Sets `*ok` to
 * FALSE, with errno, on an error. */
gboolean files_find(int dir, const char *path, gboolean follow, TreePlace *place, gboolean *ok);
/* The same for a file that must exist.  Sets `*entry` to NULL, with errno, on an error. */
gboolean files_find_entry(int dir, const char *path, gboolean follow, TreeEntry **entry);
TreeEntry *files_entry(int fd);
void files_set_umask(mode_t mask);

int files_openat(int dir, const char *path, int flags, mode_t mode);
/* RESOLVE_IN_ROOT: `dir` is the root for links and "..". */
int files_open_below(int dir, const char *path, int flags);
/* Makes a file without a name. */
int files_make_nameless(const char *name);
int files_close(int fd);
gssize files_read(int fd, void *bytes, gsize size);
gssize files_pread(int fd, void *bytes, gsize size, off_t at);
gssize files_write(int fd, const void *bytes, gsize size);
gssize files_pwrite(int fd, const void *bytes, gsize size, off_t at);
off_t files_seek(int fd, off_t by, int whence);
int files_truncate(int fd, off_t size);
int files_stat_system(int fd, struct statfs *fs);
int files_flags(int fd);
int files_lock(int fd, int operation);

int files_stat(int dir, const char *path, struct stat *st, int flags);
gboolean files_exists(int dir, const char *path);
int files_mkdir(int dir, const char *path, mode_t mode);
int files_unlink(int dir, const char *path, int flags);
int files_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
/* Bind to, or connect to, the socket at the address's path. */
int files_bind(int fd, const struct sockaddr *address, socklen_t size);
int files_connect(int fd, const struct sockaddr *address, socklen_t size);
