/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-scan ROOT ROUNDS
 *
 * How long rdmad_scan_sysfs() takes, and how long the same files take that are only opened, read
 * and closed: the linker hands each open of the scan, and each link that it reads, to this program
 * first
 * (--wrap), which writes it down and plays the list again.  Prints {"devices", "opens", "scan_us",
 * "scan_cpu_us", "reads_us", "reads_cpu_us"}, medians of rounds that alternate; "cpu": CPU time of
 * all threads.
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

#define DIRS_MAX 1024
#define LINK	 G_MAXUINT64

typedef struct {
	char *path;
	guint64 flags; /* LINK: a link is read */
	int dir;       /* the descriptor of the scan that the path is relative to */
	int fd;	       /* the scan's own descriptor; -1: it could not be opened */
} Opened;

static GArray *record; /* NULL: nothing is written down */

static void record_add(const char *path, guint64 flags, int dir, int fd)
{
	const Opened opened = { g_strdup(path), flags, dir, fd };

	g_assert(dir >= 0 && dir < DIRS_MAX && fd < DIRS_MAX);
	g_array_append_val(record, opened);
}

/* The name that the C library gives openat() where offsets have 64 bits. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);

ssize_t __real_readlinkat(int dir, const char *path, char *target, size_t size);
ssize_t __wrap_readlinkat(int dir, const char *path, char *target, size_t size);

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
	long a[4], result;

	va_start(args, number);
	for (guint i = 0; i < G_N_ELEMENTS(a); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	result = __real_syscall(number, a[0], a[1], a[2], a[3]);
	/* After EAGAIN the scan tries again. */
	if (record && number == SYS_openat2 && (result >= 0 || errno != EAGAIN))
		record_add((const char *)a[1], ((const struct open_how *)a[2])->flags, (int)a[0],
			   (int)result);
	return result;
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	const int fd = __real_openat64(dir, path, flags);

	if (record)
		record_add(path, (guint64)flags, dir, fd);
	return fd;
}

/* A path below AT_FDCWD is that of a descriptor in /proc. */
ssize_t __wrap_readlinkat(int dir, const char *path, char *target, size_t size)
{
	if (record && dir != AT_FDCWD)
		record_add(path, LINK, dir, -1);
	return __real_readlinkat(dir, path, target, size);
}

/* ---- the baseline ---- */

static void read_target(int dir, const char *path)
{
	char buf[4096];

	(void)!__real_readlinkat(dir, path, buf, sizeof(buf));
}

static void read_names(int fd)
{
	char buf[32768];

	while (__real_syscall(SYS_getdents64, fd, buf, sizeof(buf)) > 0)
		;
}

/* Once, as the scan does: sysfs returns a whole attribute. */
static void read_bytes(int fd, const char *path)
{
	char buf[4096];

	if (read(fd, buf, sizeof(buf)) < 0)
		g_error("%s: %s", path, g_strerror(errno));
}

/* A directory that others may use stays open until the scan had the next one at its descriptor. */
static void keep_open(int *dirs, int which, int fd)
{
	if (dirs[which] >= 0)
		close(dirs[which]);
	dirs[which] = fd;
}

static void play_one(int root, int *dirs, const Opened *opened)
{
	/* The scan opens all directories but the root. */
	const int base = dirs[opened->dir] < 0 ? root : dirs[opened->dir];
	int fd;

	if (opened->flags == LINK) {
		read_target(base, opened->path);
		return;
	}
	fd = __real_openat64(base, opened->path, (int)opened->flags);
	if ((fd < 0) != (opened->fd < 0))
		g_error("%s: not as in the scan", opened->path);
	if (fd < 0)
		return;
	if (opened->flags & O_PATH) {
		keep_open(dirs, opened->fd, fd);
	} else if (opened->flags & O_DIRECTORY) {
		read_names(fd);
		keep_open(dirs, opened->fd, fd);
	} else {
		read_bytes(fd, opened->path);
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
	int dirs[DIRS_MAX];

	for (guint i = 0; i < DIRS_MAX; i++)
		dirs[i] = -1;
	for (guint i = 0; i < list->len; i++)
		play_one(root, dirs, &g_array_index(list, Opened, i));
	for (guint i = 0; i < DIRS_MAX; i++)
		keep_open(dirs, (int)i, -1);
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
