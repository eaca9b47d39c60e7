/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the sysroot that fail on demand (ld's --wrap of syscall, openat64, pread64, read,
 * readlinkat).  Included once a program. */
#pragma once

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The failing call, and its errno. */
static struct {
	guint count;	  /* atomic: number of calls so far, on all threads */
	guint at;	  /* number of the failing call, from 1; 0: none */
	const char *path; /* suffix of the paths that fail; NULL: none */
	int errnum;
	GString *opened; /* gets the opened paths, one per line; or NULL */
} fault;

/* Only one thread opens at a time. */
static void note_opened(const char *path)
{
	if (fault.opened)
		g_string_append_printf(fault.opened, "%s\n", path);
}

static gboolean fails(const char *path)
{
	const gboolean hit = (guint)g_atomic_int_add(&fault.count, 1) + 1 == fault.at ||
			     (fault.path && path && g_str_has_suffix(path, fault.path));

	if (hit)
		errno = fault.errnum;
	return hit;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
ssize_t __real_pread64(int fd, void *buffer, size_t size, off64_t at);
ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off64_t at);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __real_readlinkat(int dir, const char *path, char *target, size_t size);
ssize_t __wrap_readlinkat(int dir, const char *path, char *target, size_t size);

long __wrap_syscall(long number, ...)
{
	va_list args;
	long a[4];

	va_start(args, number);
	for (guint i = 0; i < G_N_ELEMENTS(a); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2 && fails((const char *)a[1]))
		return -1;
	if (number == SYS_openat2)
		note_opened((const char *)a[1]);
	return __real_syscall(number, a[0], a[1], a[2], a[3]);
}

/* Adds the path of the directory, to distinguish attributes with the same name. */
int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", dir);
	g_autofree char *parent = fault.path ? g_file_read_link(link, NULL) : NULL;
	g_autofree char *full = parent ? g_build_filename(parent, path, NULL) : NULL;

	return fails(full ? full : path) ? -1 : __real_openat64(dir, path, flags);
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	return fails(NULL) ? -1 : __real_read(fd, buffer, size);
}

ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off64_t at)
{
	return fails(NULL) ? -1 : __real_pread64(fd, buffer, size, at);
}

ssize_t __wrap_readlinkat(int dir, const char *path, char *target, size_t size)
{
	return fails(NULL) ? -1 : __real_readlinkat(dir, path, target, size);
}
