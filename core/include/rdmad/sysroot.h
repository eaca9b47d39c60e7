/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sysroot: the only opener of /sys, /proc and /dev
 *
 * Paths are relative to the root ("sys/class/infiniband"), and symbolic links cannot lead out of
 * it. Values are read whole, up to RDMAD_SYSROOT_MAX bytes, without trailing white space and NULs,
 * with U+FFFD for invalid UTF-8.  For any thread: the object is immutable.
 *
 * RDMAD_ERROR_NOT_FOUND: no such file or device (ENOENT, ENODEV, ENXIO); RDMAD_ERROR_INVALID: a
 * file of another type, unexpected contents, or too many bytes; RDMAD_ERROR_FAILED: another error
 * of the kernel.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_SYSROOT_MAX 65536u

/* Opens this machine, whatever the configured sysroot, for its processes. */
RDMAD_API RdmadSysroot *rdmad_sysroot_new_live(GError **error);
RDMAD_API void rdmad_sysroot_free(RdmadSysroot *root);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadSysroot, rdmad_sysroot_free)

/* Returns a close-on-exec descriptor, or -1.  `flags` are those of open(2). */
RDMAD_API int rdmad_sysroot_open(const RdmadSysroot *root, const char *path, int flags,
				 GError **error);
/* Returns the value of a file; g_free(). */
RDMAD_API char *rdmad_sysroot_read(const RdmadSysroot *root, const char *path, GError **error);
/* Reads a number: decimal, or hexadecimal with 0x. */
RDMAD_API gboolean rdmad_sysroot_read_int(const RdmadSysroot *root, const char *path, gint64 *value,
					  GError **error);
/* Returns the last component of a link's target ("../../bus/pci/drivers/mlx5_core": "mlx5_core");
 * g_free(). */
RDMAD_API char *rdmad_sysroot_link_name(const RdmadSysroot *root, const char *path, GError **error);
/* Returns `path` with all links resolved, relative to the root ("sys/devices/pci0000:3a/...");
 * g_free(). */
RDMAD_API char *rdmad_sysroot_resolve(const RdmadSysroot *root, const char *path, GError **error);
/* Returns the names in a directory, at most 65536, sorted with numbers as numbers; g_strfreev(). */
RDMAD_API char **rdmad_sysroot_list(const RdmadSysroot *root, const char *path, GError **error);
/* `value` is NULL if it could not be read, for the reason in `error`. */
typedef void (*RdmadSysrootFunc)(const char *name, const char *value, const GError *error,
				 gpointer data);
/* Reads all attributes (up to 4096 bytes) of a directory of /sys, in the order of
 * rdmad_sysroot_list(), at half the cost of single reads: for GID tables and counters. */
RDMAD_API gboolean rdmad_sysroot_read_dir(const RdmadSysroot *root, const char *path,
					  RdmadSysrootFunc fn, gpointer data, GError **error);
/* Returns whether the file exists; FALSE also if that is unknown.  To distinguish, open the file
 * and check the error. */
RDMAD_API gboolean rdmad_sysroot_exists(const RdmadSysroot *root, const char *path);
RDMAD_API gboolean rdmad_sysroot_write(const RdmadSysroot *root, const char *path,
				       const char *value, GError **error);
/* Returns the path of a program for execve(2), g_free(): `path` itself, "/sbin/modprobe", or in
 * another sysroot the path of the program there, so that no program of this machine is run for
 * it. */
RDMAD_API char *rdmad_sysroot_program(const RdmadSysroot *root, const char *path, GError **error);
/* Returns whether the root is this machine itself, so that netlink and device files are of the same
 * machine. */
RDMAD_API gboolean rdmad_sysroot_is_live(const RdmadSysroot *root);
