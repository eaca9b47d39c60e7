/* SPDX-License-Identifier: Apache-2.0 */
/* Installs by rename, so that a runtime starts either the old plugin or the new one. */
#include "shim/rdmad-cni.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "rdmad-cni"

static int copy(int from, int to)
{
	char bytes[65536];

	for (;;) {
		const ssize_t n = read(from, bytes, sizeof(bytes));

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && write_all(to, bytes, (size_t)n) < 0)
			return -1;
	}
	return fchmod(to, 0755) == 0 && fsync(to) == 0 ? 0 : -1;
}

static int copy_to(int directory, const char *temporary)
{
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int to = from < 0
			       ? -1
			       : openat(directory, temporary,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
	const int status = to < 0 ? -1 : copy(from, to);
	const int errnum = errno;

	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	errno = errnum;
	return status;
}

static int install_at(int directory)
{
	char temporary[64];
	int errnum;

	snprintf(temporary, sizeof(temporary), "." NAME ".%d", (int)getpid());
	unlinkat(directory, temporary, 0);
	if (copy_to(directory, temporary) == 0 &&
	    renameat(directory, temporary, directory, NAME) == 0)
		return fsync(directory);
	errnum = errno;
	unlinkat(directory, temporary, 0);
	errno = errnum;
	return -1;
}

int install_into(const char *path)
{
	const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int status = directory < 0 ? -1 : install_at(directory);

	if (status < 0)
		fprintf(stderr, NAME ": %s: %s\n", path, strerror(errno));
	if (directory >= 0)
		close(directory);
	return status;
}
