/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child-host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define CGROUP2_MAGIC 0x63677270 /* linux/magic.h */
#define EMPTY_TRIES   50u
#define EMPTY_TRY_MS  100

int rdmad_child_host_namespaces(void)
{
	struct stat own, host;
	const gboolean same = stat("/proc/self/ns/cgroup", &own) == 0 &&
			      stat("/proc/1/ns/cgroup", &host) == 0 && own.st_ino == host.st_ino &&
			      own.st_dev == host.st_dev;

	return same ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWCGROUP;
}

/* Returns whether the errno says that rdmad has no cgroups here.  Other errors may pass. */
static gboolean is_refusal(int errnum)
{
	static const int refusals[] = { ENOENT, ENOTDIR, EACCES, EPERM, EROFS, EBUSY, EOPNOTSUPP };

	for (guint i = 0; i < G_N_ELEMENTS(refusals); i++)
		if (errnum == refusals[i])
			return TRUE;
	return FALSE;
}

/* The second path is that of systemd's hybrid hierarchy.  Returns -1 with errno; ENOENT: there is no tree. */
static int tree_open(void)
{
	static const char *const places[] = { "/proc/1/root/sys/fs/cgroup",
					      "/proc/1/root/sys/fs/cgroup/unified" };

	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
		rdmad_autofd int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd < 0 || fstatfs(fd, &fs) < 0) {
			if (!is_refusal(errno))
				return -1;
		} else if (fs.f_type == CGROUP2_MAGIC) {
			return rdmad_steal_fd(&fd);
		}
	}
	errno = ENOENT;
	return -1;
}

static void cgroup_kill(int cgroup)
{
	rdmad_autofd int fd = openat(cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) < 0)
		rdmad_debug("cannot kill the cgroup of a child: %s", g_strerror(errno));
}

/* Root without CAP_DAC_OVERRIDE cannot write to the root of the tree, but to systemd's slice. */
static const char *const parents[] = { "", "system.slice/" };

static int cgroup_make(int tree, const char *parent, const char *name)
{
	g_autofree char *path = g_strconcat(parent, name, NULL);

	if (mkdirat(tree, path, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(tree, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

gboolean rdmad_child_cgroup_open(const char *name, int *cgroup, GError **error)
{
	rdmad_autofd int tree = tree_open();

	*cgroup = -1;
	for (guint i = 0; tree >= 0 && *cgroup < 0 && i < G_N_ELEMENTS(parents); i++) {
		*cgroup = cgroup_make(tree, parents[i], name);
		if (*cgroup < 0 && !is_refusal(errno))
			break;
	}
	if (*cgroup < 0 && !is_refusal(errno))
		return rdmad_error_errno(error, errno, "cannot make the cgroup %s", name);
	/* Processes may be left from a daemon that died. */
	if (*cgroup >= 0)
		cgroup_kill(*cgroup);
	else
		rdmad_debug("there is no cgroup %s: %s", name, g_strerror(errno));
	return TRUE;
}

gboolean rdmad_child_cgroup_join(int cgroup)
{
	const int fd = cgroup < 0 ? -1 : openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return cgroup < 0 || (fd >= 0 && write(fd, "0", 1) == 1) || is_refusal(errno);
}

/* The kernel reports changes of the file as urgent data. */
static gboolean cgroup_is_empty(int events, int timeout_ms)
{
	struct pollfd changed = { .fd = events, .events = POLLPRI };
	char text[256];
	gssize n;

	if (timeout_ms && poll(&changed, 1, timeout_ms) < 0 && errno != EINTR)
		return TRUE;
	n = pread(events, text, sizeof(text) - 1, 0);
	text[MAX(n, 0)] = '\0';
	return n <= 0 || !strstr(text, "populated 1");
}

/* The wait is limited, because a process that hangs in the kernel never ends. */
static void cgroup_wait_empty(int cgroup)
{
	rdmad_autofd int events = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC);

	for (guint i = 0; events >= 0 && i < EMPTY_TRIES; i++)
		if (cgroup_is_empty(events, i ? EMPTY_TRY_MS : 0))
			return;
}

void rdmad_child_cgroup_end(int *cgroup, const char *name)
{
	rdmad_autofd int tree = -1;

	if (*cgroup < 0)
		return;
	cgroup_kill(*cgroup);
	cgroup_wait_empty(*cgroup);
	rdmad_clear_fd(cgroup);
	tree = tree_open();
	for (guint i = 0; tree >= 0 && i < G_N_ELEMENTS(parents); i++) {
		g_autofree char *path = g_strconcat(parents[i], name, NULL);

		(void)unlinkat(tree, path, AT_REMOVEDIR);
	}
}
