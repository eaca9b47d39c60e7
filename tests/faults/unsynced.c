/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsynced writes: the loss of unsynced data in a power failure
 *
 * Only contents are lost: a created or renamed file stays.  All unsynced writes are lost, never
 * a part of them, which is one of the possible outcomes on a disk.
 */
#include "unsynced.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files are kept by path: closing a second descriptor would release the process' locks on the
 * file. */
typedef struct Write Write;

struct Write {
	Write *before;
	dev_t device;
	ino_t inode;
	off_t at, file_size;
	ssize_t size;
	char path[PATH_MAX];
	char bytes[];
};

static Write *last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_add(int fd, off_t at, size_t size, const struct stat *st)
{
	Write *entry = calloc(1, sizeof(*entry) + size);
	char link[64];

	if (!entry)
		abort();
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, entry->path, sizeof(entry->path) - 1) < 0)
		abort();
	entry->device = st->st_dev;
	entry->inode = st->st_ino;
	entry->file_size = st->st_size;
	entry->at = at;
	entry->size = pread(fd, entry->bytes, size, at);
	pthread_mutex_lock(&lock);
	entry->before = last;
	last = entry;
	pthread_mutex_unlock(&lock);
}

void unsynced_record(int fd, off_t at, size_t size)
{
	struct stat st;
	size_t there;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	there = at < st.st_size ? (size_t)(st.st_size - at) : 0;
	write_add(fd, at, size < there ? size : there, &st);
}

void unsynced_drop(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	pthread_mutex_lock(&lock);
	for (Write **place = &last; *place;) {
		Write *entry = *place;

		if (entry->device != st.st_dev || entry->inode != st.st_ino) {
			place = &entry->before;
			continue;
		}
		*place = entry->before;
		free(entry);
	}
	pthread_mutex_unlock(&lock);
}

static void write_undo(const Write *entry)
{
	const int fd = open(entry->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	/* The file was removed. */
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != entry->inode)
		return;
	if ((entry->size > 0 && pwrite(fd, entry->bytes, (size_t)entry->size, entry->at) < 0) ||
	    ftruncate(fd, entry->file_size) < 0)
		abort();
}

void unsynced_undo(void)
{
	for (const Write *entry = last; entry; entry = entry->before)
		write_undo(entry);
}
