/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/sysroot.h>
#include <sys/stat.h>

/* `path` NULL or "/": this machine. */
RdmadSysroot *rdmad_sysroot_new(const char *path, GError **error);
/* Returns the directory of a recorded machine, for another process; NULL: this machine. */
const char *rdmad_sysroot_path(const RdmadSysroot *root);
/* Makes an unattached sysfs, which shows the interfaces and, in exclusive netns mode, the RDMA
 * devices of the calling thread's network namespace.  Paths are relative to /sys. */
RdmadSysroot *rdmad_sysroot_new_sysfs(GError **error);

/* Returns the errno of the last failure in this thread since the previous call that may be
 * temporary, or 0.  All other failures are final: the file does not exist, or is not what was
 * expected. */
int rdmad_sysroot_passing_error(void);
/* Returns whether there was such a failure, without resetting it. */
gboolean rdmad_sysroot_in_doubt(void);

/* rdmad_sysroot_open() and rdmad_sysroot_list() set errno on failure, E2BIG for too many names. */

/* Only for a comparison with a file that was opened below the root: an absolute link leads out of a
 * recorded machine, to another file or to none.  Returns FALSE on failure. */
gboolean rdmad_sysroot_glance(const RdmadSysroot *root, const char *path, struct stat *st);

/* Functions for many attributes of one directory, which do not allocate memory.  All return -1 with
 * errno on failure. */
int rdmad_sysroot_open_dir(const RdmadSysroot *root, const char *path);
int rdmad_sysroot_open_file_at(int dir, const char *name);
/* Follows no links. */
int rdmad_sysroot_open_dir_at(int dir, const char *name);
/* Reads a whole attribute at once.  Returns its length without trailing white space and NULs.
 * EBADMSG: not text, or longer than `size`. */
gssize rdmad_sysroot_read_at(int dir, const char *name, char *text, gsize size);
/* The same for an open file; returns its current value at each call. */
gssize rdmad_sysroot_read_file(int fd, char *text, gsize size);

/* Of an attribute of 4096 bytes, each of which may become U+FFFD. */
#define RDMAD_SYSROOT_ATTRIBUTE_SIZE (3 * 4096 + 1)
/* Reads an attribute of /sys into `text`, as rdmad_sysroot_read() does; `dir_path` is for the
 * error. */
gboolean rdmad_sysroot_read_attribute(int dir, const char *dir_path, const char *name,
				      char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE], GError **error);

/* The functions of rdmad/sysroot.h for a file of a directory that is open: a scan has many of them,
 * and resolving a path is most of the cost of opening.  They follow no links; `dir_path` is for
 * errors. */
char **rdmad_sysroot_list_at(int dir, const char *dir_path, const char *name, GError **error);
gboolean rdmad_sysroot_read_dir_at(int dir, const char *dir_path, const char *name,
				   RdmadSysrootFunc fn, gpointer data, GError **error);
char *rdmad_sysroot_link_name_at(int dir, const char *dir_path, const char *name, GError **error);
/* Returns the path that the open file `fd` has now.  `base` keeps the path of the root for the next
 * call, g_free(); NULL: not known yet. */
char *rdmad_sysroot_path_of(const RdmadSysroot *root, int fd, char **base, const char *path,
			    GError **error);

/* Adds a watch to an inotify descriptor.  Returns -1 with errno on failure. */
int rdmad_sysroot_watch(const RdmadSysroot *root, int inotify, const char *path, guint32 events);
/* Opens the program of a process, or the file that its first argument names if the kernel denies
 * the program itself, which requires all capabilities of the process.  Returns -1 if neither can be
 * opened. */
int rdmad_sysroot_open_program(const RdmadSysroot *root, pid_t pid);
