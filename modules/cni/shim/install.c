/* SPDX-License-Identifier: Apache-2.0 */
/* Installs by rename, so that a runtime starts either the old plugin or the new one.  Installers in
 * several PID namespaces may have one directory, and the same PID. */
#include "shim/rdmad-cni.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME   "rdmad-cni"
#define PREFIX "." NAME "."
#define OLD_S  3600 /* since the last write of a file that is no longer being written */

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

static int copy_to(int to)
{
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int status = from < 0 ? -1 : copy(from, to);
	const int errnum = errno;

	if (from >= 0)
		close(from);
	errno = errnum;
	return status;
}

/* A name that exists is another installer's. */
static int temporary_open(int directory, char *temporary, size_t size)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -1;
	snprintf(temporary, size, PREFIX "%016llx", (unsigned long long)random);
	return openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0700);
}

/* An installer whose file is removed although it still runs fails in its rename. */
static int is_leftover(int directory, const char *name)
{
	const char *suffix = name + sizeof(PREFIX) - 1;
	struct stat st;

	return strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0 && *suffix != '\0' &&
	       suffix[strspn(suffix, "0123456789abcdef")] == '\0' &&
	       fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_mtime < time(NULL) - OLD_S;
}

/* Removes the files of installers that were killed, which nobody else would. */
static void leftovers_remove(int directory)
{
	const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);

	if (!files && fd >= 0)
		close(fd);
	for (const struct dirent *entry; files && (entry = readdir(files));)
		if (is_leftover(directory, entry->d_name))
			unlinkat(directory, entry->d_name, 0);
	if (files)
		closedir(files);
}

static int install_at(int directory)
{
	char temporary[64];
	int to, status, errnum;

	leftovers_remove(directory);
	to = temporary_open(directory, temporary, sizeof(temporary));
	if (to < 0)
		return -1;
	status = copy_to(to);
	errnum = errno;
	close(to);
	if (status == 0 && renameat(directory, temporary, directory, NAME) == 0)
		return fsync(directory);
	errnum = status < 0 ? errnum : errno;
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
