/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow-files SOURCE MOUNTPOINT RULE...
 *
 * Mounts a read-only view of SOURCE at MOUNTPOINT, with slow or failing reads of some files: a
 * model of devices with slow firmware.  Changes of SOURCE are visible immediately.  A RULE is
 * PATTERN=WHAT; all rules that match apply, in their order.  PATTERN is matched by fnmatch(3)
 * with the path below SOURCE after all links, where "*" matches "/" too; WHAT is one of
 *
 *     delay:MS    the read takes MS milliseconds longer
 *     errno:N     the read fails with error number N ("5": EIO)
 *     block       the read ends when this program does
 *
 * Prints "mounted" after the mount.  SIGUSR1 disables the rules and SIGUSR2 enables them, each
 * followed by "done" on stdout; SIGTERM ends the program and all pending reads.  The exit status
 * is 77, with the reason, if the mount is impossible.
 */
#define FUSE_USE_VERSION 312

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <glib.h>
#include <pthread.h>
#include <rdmad/fd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define SKIPPED	    77
#define THREADS_MAX 512 /* concurrent reads */

typedef struct {
	const char *pattern;
	gboolean blocks;
	guint delay_ms;
	int errnum;
} Rule;

typedef struct {
	int source;
	const char *mountpoint;
	Rule *rules;
	int n_rules;
	gint off; /* atomic */
} SlowFiles;

static SlowFiles *slow_files(void)
{
	return fuse_get_context()->private_data;
}

/* Strips the leading slash of FUSE's paths. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

/* Returns 0, or the error number with which the read must fail. */
static int rules_apply(SlowFiles *files, const char *path)
{
	for (int i = 0; !g_atomic_int_get(&files->off) && i < files->n_rules; i++) {
		const Rule *rule = &files->rules[i];

		if (fnmatch(rule->pattern, below(path), 0) != 0)
			continue;
		while (rule->blocks)
			pause();
		g_usleep(rule->delay_ms * 1000ul);
		if (rule->errnum)
			return rule->errnum;
	}
	return 0;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	return fstatat(slow_files()->source, below(path), st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int slow_readlink(const char *path, char *target, size_t size)
{
	const ssize_t n = readlinkat(slow_files()->source, below(path), target, size - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return 0;
}

static int slow_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	const int fd =
		openat(slow_files()->source, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		fill(buf, entry->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

/* Each read reaches the file, as in sysfs: the page cache is bypassed. */
static int slow_open(const char *path, struct fuse_file_info *info)
{
	if ((info->flags & O_ACCMODE) != O_RDONLY)
		return -EROFS;
	info->direct_io = 1;
	return 0;
}

static int slow_read(const char *path, char *buf, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	SlowFiles *files = slow_files();
	const int errnum = rules_apply(files, path);
	rdmad_autofd int fd = -1;
	ssize_t n;

	if (errnum)
		return -errnum;
	fd = openat(files->source, below(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd >= 0 ? pread(fd, buf, size, offset) : -1;
	return n < 0 ? -errno : (int)n;
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	/* Names and attributes are not cached either: the test changes SOURCE at any time. */
	config->use_ino = 1;
	config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
	puts("mounted");
	fflush(stdout);
	return slow_files();
}

static const struct fuse_operations operations = {
	.getattr = slow_getattr,
	.readlink = slow_readlink,
	.readdir = slow_readdir,
	.open = slow_open,
	.read = slow_read,
	.init = slow_init,
};

static gboolean parse_rule(char *text, Rule *rule)
{
	char *what = strrchr(text, '=');
	char *number = what ? strchr(what, ':') : NULL;

	if (!what)
		return FALSE;
	*what++ = '\0';
	rule->pattern = text;
	rule->blocks = !strcmp(what, "block");
	if (number && g_str_has_prefix(what, "delay:"))
		rule->delay_ms = (guint)atoi(number + 1);
	else if (number && g_str_has_prefix(what, "errno:"))
		rule->errnum = atoi(number + 1);
	return rule->blocks || rule->delay_ms || rule->errnum > 0;
}

/* The only thread that receives signals.  The kernel ends blocked reads with the process. */
static void *handle_signals(void *data)
{
	SlowFiles *files = data;
	sigset_t signals;
	int signum;

	sigfillset(&signals);
	for (;;) {
		if (sigwait(&signals, &signum) != 0)
			continue;
		if (signum == SIGUSR1 || signum == SIGUSR2) {
			g_atomic_int_set(&files->off, signum == SIGUSR1);
			puts("done");
			fflush(stdout);
		}
		if (signum != SIGTERM && signum != SIGINT)
			continue;
		umount2(files->mountpoint, MNT_DETACH);
		_exit(0);
	}
}

static void start_signals(SlowFiles *files)
{
	sigset_t signals;
	pthread_t thread;

	sigfillset(&signals);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	if (pthread_create(&thread, NULL, handle_signals, files) != 0)
		abort();
}

static int serve(struct fuse *fuse)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int status;

	fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
	fuse_loop_cfg_set_idle_threads(config, 16);
	status = fuse_loop_mt(fuse, config);
	fuse_loop_cfg_destroy(config);
	return status ? 1 : 0;
}

static int usage(void)
{
	fputs("usage: slow-files SOURCE MOUNTPOINT PATTERN=delay:MS|errno:N|block...\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	char *fuse_argv[] = { (char *)"slow-files", (char *)"-ofsname=slow-files", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(2, fuse_argv);
	SlowFiles files = { .source = -1 };
	struct fuse *fuse;

	if (argc < 3)
		return usage();
	files.rules = g_new0(Rule, argc);
	files.mountpoint = argv[2];
	for (int i = 3; i < argc; i++)
		if (!parse_rule(argv[i], &files.rules[files.n_rules++]))
			return usage();
	files.source = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	fuse = files.source >= 0 ? fuse_new(&args, &operations, sizeof(operations), &files) : NULL;
	if (!fuse || fuse_mount(fuse, files.mountpoint) != 0) {
		fprintf(stderr, "slow-files: cannot show %s at %s: %s\n", argv[1], argv[2],
			g_strerror(errno));
		return files.source >= 0 ? SKIPPED : 1;
	}
	start_signals(&files);
	return serve(fuse);
}
