/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is written under a temporary name, synced, renamed, and its directory synced, before the
 * runtime gets the success of the DEL.  The name is derived from the attachment and its namespace,
 * so that a repeated DEL is one record, and a DEL of the same container with another namespace is
 * another.
 */
#include "shim/rdmad-cni.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID	       "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LENGTH 36
#define RECORDS_MAX    10000

/* A record without the boot's identity could be of an earlier boot, whose namespaces are gone. */
static int boot_id_read(char *boot_id)
{
	const int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, boot_id, BOOT_ID_LENGTH);
	const int errnum = n < 0 ? errno : EIO;

	if (fd >= 0)
		close(fd);
	if (n == BOOT_ID_LENGTH)
		return 0;
	errno = errnum;
	return -1;
}

static uint64_t variable_sum(uint64_t sum, const char *name)
{
	const char *value = getenv(name);

	return fnv(sum, value ? value : "", value ? strlen(value) + 1 : 1);
}

static void name_make(const ShimRequest *request, char name[SPOOL_NAME_SIZE])
{
	const uint64_t key = variable_sum(variable_sum(FNV_BEGIN, "CNI_CONTAINERID"), "CNI_IFNAME");
	const uint64_t netns[] = { request->netns_device, request->netns_inode };
	/* The configuration has the network's name, and differs with prevResult too. */
	const uint64_t rest =
		fnv(fnv(key, request->input, request->input_size), netns, sizeof(netns));

	snprintf(name, SPOOL_NAME_SIZE, "%016llx%016llx", (unsigned long long)key,
		 (unsigned long long)rest);
}

/* Makes the parents too: rdmad may never have run on this host. */
static int directory_make(const char *directory)
{
	char path[PATH_MAX];
	const size_t length = strlen(directory);

	errno = ENAMETOOLONG;
	if (length >= sizeof(path))
		return -1;
	memcpy(path, directory, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (directory[i] != '/' && directory[i] != '\0')
			continue;
		path[i] = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -1;
		path[i] = directory[i];
	}
	return 0;
}

static int directory_open(const char *directory)
{
	if (directory_make(directory) < 0)
		return -1;
	return open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int record_put(int fd, const ShimRequest *request)
{
	CniSpoolHead head = { .magic = CNI_SPOOL_MAGIC,
			      .version = CNI_MESSAGE_VERSION,
			      .environment = request->environment_size,
			      .input = request->input_size,
			      .netns_device = request->netns_device,
			      .netns_inode = request->netns_inode };

	if (boot_id_read(head.boot_id) < 0)
		return -1;
	head.sum = fnv(FNV_BEGIN, &head, sizeof(head));
	head.sum = fnv(head.sum, request->environment, request->environment_size);
	head.sum = fnv(head.sum, request->input, request->input_size);
	if (write_all(fd, &head, sizeof(head)) < 0 ||
	    write_all(fd, request->environment, request->environment_size) < 0 ||
	    write_all(fd, request->input, request->input_size) < 0)
		return -1;
	return fsync(fd);
}

/* A failed fsync() is not repeated, because the next one would succeed without writing. */
static int record_make(int directory, const char *temporary, const ShimRequest *request)
{
	const int fd = openat(directory, temporary,
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int status, errnum;

	if (fd < 0)
		return -1;
	status = record_put(fd, request);
	errnum = errno;
	if (close(fd) < 0 && status == 0) {
		status = -1;
		errnum = errno;
	}
	errno = errnum;
	return status;
}

static int record_write(int directory, const ShimRequest *request, const char *name)
{
	char temporary[SPOOL_NAME_SIZE + 16];
	int errnum;

	/* An earlier process with the same PID may have left its file. */
	snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid());
	unlinkat(directory, temporary, 0);
	if (record_make(directory, temporary, request) == 0 &&
	    renameat(directory, temporary, directory, name) == 0)
		return fsync(directory);
	errnum = errno;
	unlinkat(directory, temporary, 0);
	errno = errnum;
	return -1;
}

static int records_count(int directory)
{
	const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *records = fd < 0 ? NULL : fdopendir(fd);
	int n = 0;

	if (!records && fd >= 0)
		close(fd);
	for (const struct dirent *entry; records && (entry = readdir(records));)
		n += entry->d_name[0] != '.';
	if (records)
		closedir(records);
	return n;
}

/* A runtime that repeats an ADD without rdmad makes a container for each, and only rdmad knows
 * which DELs are of none of its own.  None is dropped here: that of a full spool fails, so that the
 * runtime repeats it and makes no further container. */
static int room_check(int directory, const char *name)
{
	if (faccessat(directory, name, F_OK, 0) == 0 || records_count(directory) < RECORDS_MAX)
		return 0;
	errno = ENOBUFS;
	return -1;
}

int spool_write(const ShimRequest *request, const char *directory, char name[SPOOL_NAME_SIZE])
{
	const int fd = directory_open(directory);
	int status, errnum;

	if (fd < 0)
		return -1;
	name_make(request, name);
	status = room_check(fd, name) < 0 ? -1 : record_write(fd, request, name);
	errnum = errno;
	close(fd);
	errno = errnum;
	return status;
}

void spool_remove(const char *directory, const char *name)
{
	const int fd = directory_open(directory);

	if (fd < 0)
		return;
	unlinkat(fd, name, 0);
	close(fd);
}
