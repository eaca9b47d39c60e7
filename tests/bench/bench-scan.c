/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-scan ROOT ROUNDS
 *
 * How long rdmad_scan_sysfs() takes, and how long the same files take that are only opened, read and
 * closed: the linker hands each open of the scan to this program first (--wrap), which writes it
 * down and plays the list again.  Prints {"devices", "opens", "scan_us", "scan_cpu_us", "reads_us",
 * "reads_cpu_us"}, medians of rounds that alternate; "cpu": CPU time of all threads.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"
#include "samples.h"

typedef struct {
	char *path;
	guint64 flags;
	gboolean in_last_dir; /* else below the root */
} Opened;

static GArray *record; /* NULL: nothing is written down */

static void record_add(const char *path, guint64 flags, gboolean in_last_dir)
{
	const Opened opened = { g_strdup(path), flags, in_last_dir };

	if (record)
		g_array_append_val(record, opened);
}

/* The name that the C library gives openat() where offsets have 64 bits. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data);

/* What is written down has one order: one thread does all of it. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data)
{
	return record ? EAGAIN : __real_pthread_create(thread, attr, run, data);
}

long __wrap_syscall(long number, ...)
{
	va_list args;
	long a[4];

	va_start(args, number);
	for (guint i = 0; i < G_N_ELEMENTS(a); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2)
		record_add((const char *)a[1], ((const struct open_how *)a[2])->flags, FALSE);
	return __real_syscall(number, a[0], a[1], a[2], a[3]);
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	record_add(path, (guint64)flags, TRUE);
	return __real_openat64(dir, path, flags);
}

/* ---- the baseline ---- */

static void read_names(int fd)
{
	char buf[32768];

	while (__real_syscall(SYS_getdents64, fd, buf, sizeof(buf)) > 0)
		;
}

static void read_bytes(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static void play_one(int root, int *last_dir, const Opened *opened)
{
	const int base = opened->in_last_dir ? *last_dir : root;
	const int fd = __real_openat64(base, opened->path, (int)opened->flags);

	if (fd < 0)
		return;
	if (opened->flags & O_PATH) {
		close(fd);
	} else if (opened->flags & O_DIRECTORY) {
		read_names(fd);
		if (*last_dir >= 0)
			close(*last_dir);
		*last_dir = fd;
	} else {
		read_bytes(fd);
		close(fd);
	}
}

static gint64 processor_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

static void samples_add_processor(GArray *used, gint64 before)
{
	const gint64 cpu = processor_now() - before;

	g_array_append_val(used, cpu);
}

static void play(const char *path, const GArray *list, GArray *took, GArray *used)
{
	const gint64 began = samples_now(), before = processor_now();
	const int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int last_dir = -1;

	for (guint i = 0; i < list->len; i++)
		play_one(root, &last_dir, &g_array_index(list, Opened, i));
	if (last_dir >= 0)
		close(last_dir);
	close(root);
	samples_add_processor(used, before);
	samples_add(took, began);
}

/* ---- the scan ---- */

/* How many devices there are. */
static guint scan(const RdmadSysroot *root, GArray *took, GArray *used)
{
	g_autoptr(GError) error = NULL;
	const gint64 began = samples_now(), before = processor_now();
	g_autoptr(RdmadScan) found = rdmad_scan_sysfs(root, &error);

	samples_add_processor(used, before);
	samples_add(took, began);
	if (!found)
		g_error("%s", error->message);
	return found->devices->len;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) root = NULL;
	g_autoptr(GArray) scans = samples_new();
	g_autoptr(GArray) scans_cpu = samples_new();
	g_autoptr(GArray) reads = samples_new();
	g_autoptr(GArray) reads_cpu = samples_new();
	GArray *opened = g_array_new(FALSE, FALSE, sizeof(Opened));
	guint devices, rounds;

	if (argc != 3) {
		fputs("usage: bench-scan ROOT ROUNDS\n", stderr);
		return 2;
	}
	root = rdmad_sysroot_new(argv[1], &error);
	if (!root)
		g_error("%s", error->message);
	rounds = (guint)CLAMP(atoi(argv[2]), 1, 10000);
	record = opened;
	devices = scan(root, scans, scans_cpu);
	record = NULL;
	g_array_set_size(scans, 0);
	g_array_set_size(scans_cpu, 0);
	for (guint i = 0; i < rounds; i++) {
		scan(root, scans, scans_cpu);
		play(argv[1], opened, reads, reads_cpu);
	}
	printf("{\"devices\": %u, \"opens\": %u, \"scan_us\": %.0f, \"scan_cpu_us\": %.0f, "
	       "\"reads_us\": %.0f, \"reads_cpu_us\": %.0f}\n",
	       devices, opened->len, samples_percentile(scans, 50),
	       samples_percentile(scans_cpu, 50), samples_percentile(reads, 50),
	       samples_percentile(reads_cpu, 50));
	return 0;
}
