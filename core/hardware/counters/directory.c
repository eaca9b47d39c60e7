/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/directory.h"

#include <errno.h>
#include <rdmad/fd.h>
#include <rdmad/intern.h>
#include <string.h>
#include <sys/stat.h>

#include "hardware/scan/value.h"
#include "hardware/sysroot.h"

#define VALUE_MAX 128
/* mlx5's first counter: the driver's other counters are fresh for some milliseconds only after this
 * one was read, and cost firmware commands each otherwise. */
#define READ_FIRST "rx_write_requests"

void rdmad_counter_directory_init(RdmadCounterDirectory *dir, RdmadCounterGroup group, guint port,
				  char *path)
{
	*dir = (RdmadCounterDirectory){
		.place = { .group = group, .port = port },
		.path = path,
	};
}

static void forget_names(RdmadCounterDirectory *dir)
{
	for (guint i = 0; i < dir->n_names; i++)
		rdmad_intern_release(dir->names[i]);
	g_clear_pointer(&dir->names, g_free);
	dir->n_names = dir->first = 0;
}

static void forget(RdmadCounterDirectory *dir)
{
	forget_names(dir);
	dir->errnum = 0;
	dir->listed_us = 0;
}

void rdmad_counter_directory_clear(RdmadCounterDirectory *dir)
{
	forget(dir);
	g_clear_pointer(&dir->path, g_free);
}

/* The same directory, unchanged, and listed not long ago. */
static gboolean is_listed(const RdmadCounterDirectory *dir, const struct stat *st, gint64 now_us)
{
	const gint64 changed_us = st->st_mtim.tv_sec * G_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;

	return dir->listed_us && dir->device == st->st_dev && dir->inode == st->st_ino &&
	       dir->changed_us == changed_us && now_us < dir->listed_us + RDMAD_COUNTER_AGAIN_US;
}

/* Devices are many and have the same names. */
static void keep_names(RdmadCounterDirectory *dir, char *const *names, guint n)
{
	dir->names = g_new(GRefString *, n);
	dir->n_names = n;
	for (guint i = 0; i < n; i++) {
		dir->names[i] = rdmad_intern(names[i]);
		if (!strcmp(names[i], READ_FIRST))
			dir->first = i;
	}
}

static void list(RdmadCounterDirectory *dir, const RdmadReadingBuilder *builder,
		 const struct stat *st)
{
	g_auto(GStrv) names = rdmad_sysroot_list(builder->root, dir->path, NULL);
	const guint n = names ? g_strv_length(names) : 0;

	forget(dir);
	dir->device = st->st_dev;
	dir->inode = st->st_ino;
	dir->changed_us = st->st_mtim.tv_sec * G_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;
	dir->listed_us = builder->time_us;
	if (names && n <= RDMAD_COUNTERS_MAX)
		keep_names(dir, names, n);
	else
		dir->errnum = names ? E2BIG : EIO;
}

static int read_value(int fd, const char *name, guint64 *value)
{
	char text[VALUE_MAX];

	if (rdmad_sysroot_read_at(fd, name, text, sizeof(text)) < 0)
		return errno;
	return rdmad_sysfs_counter(text, value) ? 0 : EBADMSG;
}

static void read_one(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, int fd, guint i)
{
	RdmadCounterKey key = dir->place;
	guint64 value = 0;
	int errnum;

	key.name = dir->names[i];
	if (!rdmad_reading_builder_may_read(builder, &key))
		return;
	errnum = read_value(fd, key.name, &value);
	if (errnum == ENOENT) {
		/* The counter has gone: the next reading lists the directory again. */
		builder->missing = TRUE;
		dir->listed_us = 0;
		return;
	}
	rdmad_reading_builder_add_result(builder, &key, value, errnum);
}

static void read_all(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, int fd)
{
	if (dir->n_names)
		read_one(dir, builder, fd, dir->first);
	for (guint i = 0; i < dir->n_names && !rdmad_reading_builder_cancelled(builder); i++)
		if (i != dir->first)
			read_one(dir, builder, fd, i);
}

/* Many drivers have no such directory: that it was not there is remembered for a while. */
static gboolean is_absent(const RdmadCounterDirectory *dir, const RdmadReadingBuilder *builder)
{
	return dir->errnum == ENOENT && builder->time_us < dir->listed_us + RDMAD_COUNTER_AGAIN_US;
}

static int open_listed(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, int *fd)
{
	struct stat st;
	int errnum;

	if (is_absent(dir, builder))
		return ENOENT;
	*fd = rdmad_sysroot_open_dir(builder->root, dir->path);
	if (*fd >= 0 && fstat(*fd, &st) == 0) {
		if (!is_listed(dir, &st, builder->time_us))
			list(dir, builder, &st);
		return dir->errnum;
	}
	errnum = errno;
	forget(dir);
	if (errnum != ENOENT && errnum != ENODEV)
		return errnum;
	builder->missing = TRUE;
	dir->listed_us = builder->time_us;
	return dir->errnum = ENOENT;
}

void rdmad_counter_directory_read(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder)
{
	rdmad_autofd int fd = -1;
	int errnum;

	if (!rdmad_reading_builder_may_read(builder, &dir->place))
		return;
	errnum = open_listed(dir, builder, &fd);
	if (errnum && errnum != ENOENT) {
		rdmad_reading_builder_add_failed(builder, &dir->place, errnum);
		return;
	}
	rdmad_backoff_lift(builder->backoff, &dir->place);
	if (!errnum)
		read_all(dir, builder, fd);
}

/* A setting beside the counters, which is no counter. */
static const char *first_counter(const RdmadCounterDirectory *dir)
{
	const guint first = strcmp(dir->names[dir->first], RDMAD_COUNTER_LIFESPAN) ? dir->first
										   : dir->first + 1;

	return first < dir->n_names ? dir->names[first] : NULL;
}

int rdmad_counter_directory_value(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder,
				  const char *name, guint64 *value)
{
	rdmad_autofd int fd = -1;
	const int errnum = open_listed(dir, builder, &fd);

	if (errnum)
		return errnum;
	if (!name && dir->n_names)
		name = first_counter(dir);
	return name ? read_value(fd, name, value) : ENOENT;
}
