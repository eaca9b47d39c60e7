/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sysroot: the only opener of /sys, /proc and /dev
 *
 * Paths are relative to the root ("sys/class/infiniband") and never leave it, whatever links they
 * meet.  Values are read whole, up to RDMAD_SYSROOT_MAX bytes, and stripped of trailing white
 * space. All functions may be called from a worker; the object is immutable.
 *
 * RDMAD_ERROR_NOT_FOUND: no such file or device (ENOENT, ENODEV, ENXIO); RDMAD_ERROR_INVALID: other
 * contents than requested, or too much; RDMAD_ERROR_FAILED: the kernel refused.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_SYSROOT_MAX 65536u

/* This machine, whatever the sysroot: for processes, which are always its own. */
RDMAD_API RdmadSysroot *rdmad_sysroot_new_live(GError **error);
RDMAD_API void rdmad_sysroot_free(RdmadSysroot *root);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadSysroot, rdmad_sysroot_free)

/* A descriptor (O_CLOEXEC) or -1.  `flags` as for open(2). */
RDMAD_API int rdmad_sysroot_open(const RdmadSysroot *root, const char *path, int flags,
				 GError **error);
RDMAD_API char *rdmad_sysroot_read(const RdmadSysroot *root, const char *path, GError **error);
/* Decimal, or hexadecimal with 0x. */
RDMAD_API gboolean rdmad_sysroot_read_int(const RdmadSysroot *root, const char *path, gint64 *value,
					  GError **error);
/* Last component of what a link points to ("../../bus/pci/drivers/mlx5_core": "mlx5_core"). */
RDMAD_API char *rdmad_sysroot_link_name(const RdmadSysroot *root, const char *path, GError **error);
/* Path, relative to the root, that `path` is after all links ("sys/devices/pci0000:3a/..."). */
RDMAD_API char *rdmad_sysroot_resolve(const RdmadSysroot *root, const char *path, GError **error);
/* Names in a directory, sorted with numbers as numbers; at most 65536. */
RDMAD_API char **rdmad_sysroot_list(const RdmadSysroot *root, const char *path, GError **error);
/* `value` NULL: it could not be read, for the reason in `error`. */
typedef void (*RdmadSysrootFunc)(const char *name, const char *value, const GError *error,
				 gpointer data);
/* Reads each attribute (up to 4096 bytes) of a directory of /sys in natural order, at half the cost
 * of one by one: for GID tables and counters. */
RDMAD_API gboolean rdmad_sysroot_read_dir(const RdmadSysroot *root, const char *path,
					  RdmadSysrootFunc fn, gpointer data, GError **error);
/* FALSE also when it is unknown: a caller that depends on it opens the file and checks the
 * error. */
RDMAD_API gboolean rdmad_sysroot_exists(const RdmadSysroot *root, const char *path);
RDMAD_API gboolean rdmad_sysroot_write(const RdmadSysroot *root, const char *path,
				       const char *value, GError **error);
/* Where a program of the machine is for execve(): `path` itself, "/sbin/modprobe", or on a recorded
 * machine the recorded one, so that none of this machine's is run for it. */
RDMAD_API char *rdmad_sysroot_program(const RdmadSysroot *root, const char *path, GError **error);
/* TRUE: this machine itself, so that netlink and device files describe the same thing. */
RDMAD_API gboolean rdmad_sysroot_is_live(const RdmadSysroot *root);
