/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/sysroot.h>
#include <sys/stat.h>

/* `path` NULL or "/": this machine. */
RdmadSysroot *rdmad_sysroot_new(const char *path, GError **error);
/* Where the recorded machine is, for another process; NULL: it is this one. */
const char *rdmad_sysroot_path(const RdmadSysroot *root);
/* A sysfs of its own, mounted nowhere: it shows the interfaces and, in exclusive netns mode, the RDMA
 * devices of the network namespace that the calling thread is in.  Paths are those below /sys. */
RdmadSysroot *rdmad_sysroot_new_sysfs(GError **error);

/* The errno of the last failure in this thread, since the previous call, that is not a statement about
 * the file; 0: there was none.  All other failures are final: the file does not exist, or is
 * something else. */
int rdmad_sysroot_passing_error(void);
/* There was one, which is not forgotten by this. */
gboolean rdmad_sysroot_in_doubt(void);

/* FALSE with errno. */
gboolean rdmad_sysroot_stat(const RdmadSysroot *root, const char *path, struct stat *st);

/* For many attributes of one directory, with no allocation.  All: -1 with errno. */
int rdmad_sysroot_open_dir(const RdmadSysroot *root, const char *path);
int rdmad_sysroot_open_file_at(int dir, const char *name);
/* One read, as sysfs gives a whole attribute at once: its length, stripped of trailing white space and
 * NULs.  EBADMSG: no text, or more than `size` holds. */
gssize rdmad_sysroot_read_at(int dir, const char *name, char *text, gsize size);
/* The same of a file that is open: its present value, however often it was read. */
gssize rdmad_sysroot_read_file(int fd, char *text, gsize size);

/* One of /sys, up to 4096 bytes, as rdmad_sysroot_read() would read it; `dir_path` is for the error. */
char *rdmad_sysroot_read_attribute(int dir, const char *dir_path, const char *name, GError **error);

/* Adds a watch to an inotify descriptor; -1 with errno. */
int rdmad_sysroot_watch(const RdmadSysroot *root, int inotify, const char *path, guint32 events);
/* The program of a process, or what its first argument names where the kernel does not let us have the
 * program itself: that takes all capabilities of the process.  -1: neither. */
int rdmad_sysroot_open_program(const RdmadSysroot *root, pid_t pid);
