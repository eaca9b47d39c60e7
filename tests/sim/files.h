/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the kernel about files: those of the tree (tree.h) are answered here, all others by the kernel
 *
 * Neither effects nor errors of the disk are known here: calls.c is above.
 */
#pragma once

#include "tree.h"
#include <sys/socket.h>

/* Whether a descriptor is of the tree. */
gboolean files_has(int fd);
/* How many are open. */
guint files_open(void);
/* How many of the kernel's were closed. */
guint64 files_closed(void);
/* Of one of the tree, as the kernel has it in /proc/self/fd; "": it is not of the tree. */
const char *files_path(int fd, char *path, gsize size);
/* Sets errno; always -1. */
int files_fail(int errnum);
/* Finds the place of a path in the tree; FALSE: the path is the kernel's.  `*ok` FALSE: an error, with errno. */
gboolean files_find(int dir, const char *path, gboolean follow, TreePlace *place, gboolean *ok);
/* The same for a file that must exist; `*entry` NULL: an error, with errno. */
gboolean files_find_entry(int dir, const char *path, gboolean follow, TreeEntry **entry);
TreeEntry *files_entry(int fd);
void files_set_umask(mode_t mask);

int files_openat(int dir, const char *path, int flags, mode_t mode);
/* RESOLVE_IN_ROOT: `dir` is the root of links and "..". */
int files_open_below(int dir, const char *path, int flags);
/* A file without a name. */
int files_make_nameless(const char *name);
int files_dup(int fd);
int files_close(int fd);
gssize files_read(int fd, void *bytes, gsize size);
gssize files_pread(int fd, void *bytes, gsize size, off_t at);
gssize files_write(int fd, const void *bytes, gsize size);
gssize files_pwrite(int fd, const void *bytes, gsize size, off_t at);
off_t files_seek(int fd, off_t by, int whence);
int files_truncate(int fd, off_t size);
int files_flags(int fd);
int files_lock(int fd, int operation);

int files_stat(int dir, const char *path, struct stat *st, int flags);
gboolean files_exists(int dir, const char *path);
int files_mkdir(int dir, const char *path, mode_t mode);
int files_unlink(int dir, const char *path, int flags);
int files_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
/* Binds to, or connects with, the socket of an address's path. */
int files_bind(int fd, const struct sockaddr *address, socklen_t size);
int files_connect(int fd, const struct sockaddr *address, socklen_t size);
