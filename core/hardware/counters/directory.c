/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/directory.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "hardware/scan/value.h"
#include "hardware/sysroot.h"

#define VALUE_MAX 128
/* mlx5's first counter: the driver's other counters are fresh for some milliseconds only after this
 * one was read, and cost firmware commands each otherwise. */
#define READ_FIRST "rx_write_requests"

void rdmad_counter_directory_init(RdmadCounterDirectory *dir, RdmadCounterGroup group, guint port,
				  char *path)
{
	*dir = (RdmadCounterDirectory){ .place = { .group = group, .port = port } };
	rdmad_kept_files_init(&dir->files, path);
}

static void forget_names(RdmadCounterDirectory *dir)
{
	g_clear_pointer(&dir->names, rdmad_name_list_unref);
	dir->first = 0;
	rdmad_kept_files_expect(&dir->files, 0);
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
	rdmad_kept_files_clear(&dir->files);
}

static void keep_names(RdmadCounterDirectory *dir, const char *const *names, guint n)
{
	dir->names = rdmad_name_list_new(names, n);
	rdmad_kept_files_expect(&dir->files, n);
	for (guint i = 0; i < n; i++)
		if (!strcmp(names[i], READ_FIRST))
			dir->first = i;
}

static guint count_names(const RdmadCounterDirectory *dir)
{
	return dir->names ? dir->names->n : 0;
}

/* Replaces all that is known of the directory.  Returns the errno, which is ENOENT if it is
 * gone. */
static int remember(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, int errnum)
{
	forget(dir);
	dir->errnum = errnum == ENODEV ? ENOENT : errnum;
	dir->listed_us = builder->time_us;
	builder->missing |= dir->errnum == ENOENT;
	return dir->errnum;
}

/* An error that may pass says nothing about the directory: it is not remembered, and the next
 * reading lists again.  Names stay in use while the directory is the same; later readings would
 * take those of another one for its own. */
static int list_failed(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, gboolean same,
		       int errnum)
{
	if (!rdmad_errno_may_pass(errnum))
		return remember(dir, builder, errnum);
	if (!same)
		forget(dir);
	return dir->names ? 0 : errnum;
}

/* Returns 0 if names are known, or an errno. */
static int list(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, gboolean same)
{
	g_auto(GStrv) names = rdmad_sysroot_list(builder->root, dir->files.path, NULL);
	const int errnum = errno;
	guint n;

	if (!names)
		return list_failed(dir, builder, same, errnum);
	n = g_strv_length(names);
	if (n > RDMAD_COUNTERS_MAX)
		return remember(dir, builder, E2BIG);
	remember(dir, builder, 0);
	keep_names(dir, (const char *const *)names, n);
	return 0;
}

static int read_value(RdmadCounterDirectory *dir, const RdmadReadingBuilder *builder, guint i,
		      guint64 *value)
{
	char text[VALUE_MAX];

	if (rdmad_kept_files_read(&dir->files, builder->root, i, dir->names->names[i], text,
				  sizeof(text)) < 0)
		return errno;
	return rdmad_sysfs_counter(text, value) ? 0 : EBADMSG;
}

static void read_one(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder, guint i)
{
	RdmadCounterKey key = dir->place;
	guint64 value = 0;
	int errnum;

	key.name = dir->names->names[i];
	key.held = TRUE;
	if (!rdmad_reading_builder_may_read(builder, &key))
		return;
	errnum = read_value(dir, builder, i, &value);
	if (errnum == ENOENT) {
		/* The counter was removed: the next reading lists the directory again. */
		builder->missing = TRUE;
		dir->listed_us = 0;
		return;
	}
	rdmad_reading_builder_add_result(builder, &key, value, errnum);
}

/* Adds the counters in the order of their names: a reading that has to be sorted costs a fifth of
 * the instructions of a scrape. */
static void read_all(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder)
{
	const guint n = count_names(dir), place = builder->counters->len;
	gboolean added_first;

	if (!n)
		return;
	rdmad_reading_builder_hold(builder, dir->names);
	read_one(dir, builder, dir->first);
	added_first = builder->counters->len > place;
	for (guint i = 0; i < n && !rdmad_reading_builder_cancelled(builder); i++) {
		if (i != dir->first)
			read_one(dir, builder, i);
		else if (added_first)
			rdmad_reading_builder_put_last(builder, place);
	}
}

/* Remembers a missing directory for a while, because many drivers have none. */
static gboolean is_absent(const RdmadCounterDirectory *dir, const RdmadReadingBuilder *builder)
{
	return dir->errnum == ENOENT && builder->time_us < dir->listed_us + RDMAD_COUNTER_AGAIN_US;
}

/* Returns 0 if the names are known and their files may be read until rdmad_kept_files_end(). */
static int begin(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder)
{
	gboolean same;
	int errnum;

	if (is_absent(dir, builder))
		return ENOENT;
	errnum = rdmad_kept_files_begin(&dir->files, builder->root, builder->budget, &same);
	if (errnum == ENOENT || errnum == ENODEV)
		return remember(dir, builder, errnum);
	/* The names stay: if the directory is another one after the error, it is listed. */
	if (errnum)
		return errnum;
	if (!same || !dir->listed_us || builder->time_us >= dir->listed_us + RDMAD_COUNTER_AGAIN_US)
		return list(dir, builder, same);
	return dir->errnum;
}

void rdmad_counter_directory_read(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder)
{
	int errnum;

	if (!rdmad_reading_builder_may_read(builder, &dir->place))
		return;
	errnum = begin(dir, builder);
	if (errnum && errnum != ENOENT) {
		rdmad_reading_builder_add_failed(builder, &dir->place, errnum);
	} else {
		rdmad_backoff_lift(builder->backoff, &dir->place);
		if (!errnum)
			read_all(dir, builder);
	}
	rdmad_kept_files_end(&dir->files);
}

/* Finds the index of a name.  NULL is the first counter that is not a setting. */
static gboolean find_name(const RdmadCounterDirectory *dir, const char *name, guint *i)
{
	const guint n = count_names(dir);

	if (!name) {
		*i = dir->first;
		if (n && !strcmp(dir->names->names[dir->first], RDMAD_COUNTER_LIFESPAN))
			++*i;
		return *i < n;
	}
	for (*i = 0; *i < n; ++*i)
		if (!strcmp(dir->names->names[*i], name))
			return TRUE;
	return FALSE;
}

int rdmad_counter_directory_value(RdmadCounterDirectory *dir, RdmadReadingBuilder *builder,
				  const char *name, guint64 *value)
{
	int errnum = begin(dir, builder);
	guint i;

	if (!errnum)
		errnum = find_name(dir, name, &i) ? read_value(dir, builder, i, value) : ENOENT;
	rdmad_kept_files_end(&dir->files);
	return errnum;
}
