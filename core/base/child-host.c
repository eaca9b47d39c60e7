/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child-host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define EMPTY_TRIES  50u
#define EMPTY_TRY_MS 100

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

#define HOST_CGROUPS "/proc/1/root/sys/fs/cgroup"
#define OWN_CGROUPS  "/sys/fs/cgroup"

typedef struct {
	const char *path;
	long type;
} Tree;

/* The second is that of systemd's hybrid hierarchy. */
static const Tree v2_trees[] = {
	{ HOST_CGROUPS, CGROUP2_SUPER_MAGIC },
	{ HOST_CGROUPS "/unified", CGROUP2_SUPER_MAGIC },
	{ NULL },
};

static const Tree memory_trees[] = { { HOST_CGROUPS "/memory", CGROUP_SUPER_MAGIC }, { NULL } };

/* Returns the first that is there, or -1 with errno; ENOENT: none. */
static int tree_open(const Tree *tree)
{
	for (; tree->path; tree++) {
		rdmad_autofd int fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd < 0 || fstatfs(fd, &fs) < 0) {
			if (!is_refusal(errno))
				return -1;
		} else if (fs.f_type == tree->type) {
			return rdmad_steal_fd(&fd);
		}
	}
	errno = ENOENT;
	return -1;
}

/* Up to 4 KiB: of a cgroup with more processes the rest is seen when these have ended. */
static void file_read(int fd, char text[4096])
{
	const gssize n = fd < 0 ? -1 : pread(fd, text, 4095, 0);

	text[MAX(n, 0)] = '\0';
}

/* Cgroup v1 has no file that kills; a process that the child starts meanwhile is found by the next
 * call. */
static gboolean procs_kill(int cgroup)
{
	rdmad_autofd int fd = openat(cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char text[4096], *at = text, *end;
	gboolean some = FALSE;
	long pid;

	file_read(fd, text);
	for (; (pid = strtol(at, &end, 10)) > 0; at = end) {
		some = TRUE;
		kill((pid_t)pid, SIGKILL);
	}
	return some;
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

/* Returns FALSE if neither the cgroup nor its absence is known. */
static gboolean cgroup_open(const Tree *trees, const char *name, int *cgroup, GError **error)
{
	rdmad_autofd int tree = tree_open(trees);

	*cgroup = -1;
	for (guint i = 0; tree >= 0 && *cgroup < 0 && i < G_N_ELEMENTS(parents); i++) {
		*cgroup = cgroup_make(tree, parents[i], name);
		if (*cgroup < 0 && !is_refusal(errno))
			break;
	}
	if (*cgroup >= 0)
		return TRUE;
	if (!is_refusal(errno))
		return rdmad_error_errno(error, errno, "cannot make the cgroup %s", name);
	rdmad_debug("there is no cgroup %s: %s", name, g_strerror(errno));
	return TRUE;
}

/* ---- the end by lack of memory ---- */

/* Opens a file of rdmad's own cgroup.  In a container the mount has that cgroup as its root, and
 * the path is that of the host with v1. */
static int own_open(const char *tree, const char *path, const char *file)
{
	g_autofree char *below = g_build_filename(tree, path, file, NULL);
	g_autofree char *root = g_build_filename(tree, file, NULL);
	const int fd = open(below, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : open(root, O_RDONLY | O_CLOEXEC);
}

/* Returns -1 if that is unknown. */
static int own_oom_open(void)
{
	rdmad_autofd int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[4096];
	g_auto(GStrv) lines = NULL;
	int fd = -1;

	file_read(file, text);
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line && fd < 0; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, ":", 3);

		if (g_strv_length(fields) != 3)
			continue;
		if (g_str_equal(fields[1], "memory"))
			return own_open(OWN_CGROUPS "/memory", fields[2], "memory.oom_control");
		if (g_str_equal(fields[0], "0"))
			fd = own_open(OWN_CGROUPS, fields[2], "memory.events");
	}
	return fd;
}

/* Kernel: mm/memcontrol*.c; both files have a line "oom_kill N".  Returns FALSE if the number is
 * not known. */
static gboolean killed_read(int oom, guint64 *killed)
{
	char text[4096];
	const char *at;

	file_read(oom, text);
	at = g_str_has_prefix(text, "oom_kill ") ? text : strstr(text, "\noom_kill ");
	if (at)
		*killed = g_ascii_strtoull(strchr(at, ' '), NULL, 10);
	return at != NULL;
}

static int oom_open(const RdmadChildCgroup *cgroup)
{
	rdmad_autofd int v1 = tree_open(memory_trees);

	if (cgroup->memory >= 0)
		return openat(cgroup->memory, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (cgroup->cgroup >= 0 && v1 < 0)
		return openat(cgroup->cgroup, "memory.events", O_RDONLY | O_CLOEXEC);
	return own_oom_open();
}

gboolean rdmad_child_cgroup_is_oom(const RdmadChildCgroup *cgroup)
{
	guint64 killed;

	return killed_read(cgroup->oom, &killed) && killed > cgroup->killed;
}

/* ---- the child's cgroup ---- */

gboolean rdmad_child_cgroup_open(const char *name, RdmadChildCgroup *cgroup, GError **error)
{
	*cgroup = RDMAD_CHILD_NO_CGROUP;
	if (!cgroup_open(v2_trees, name, &cgroup->cgroup, error) ||
	    !cgroup_open(memory_trees, name, &cgroup->memory, error))
		return FALSE;
	/* Processes may be left from a daemon that died. */
	if (cgroup->cgroup >= 0)
		cgroup_kill(cgroup->cgroup);
	if (cgroup->memory >= 0)
		procs_kill(cgroup->memory);
	cgroup->oom = oom_open(cgroup);
	if (!killed_read(cgroup->oom, &cgroup->killed))
		rdmad_clear_fd(&cgroup->oom);
	return TRUE;
}

static gboolean cgroup_join(int cgroup)
{
	const int fd = cgroup < 0 ? -1 : openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return cgroup < 0 || (fd >= 0 && write(fd, "0", 1) == 1) || is_refusal(errno);
}

gboolean rdmad_child_cgroup_join(const RdmadChildCgroup *cgroup)
{
	return cgroup_join(cgroup->cgroup) && cgroup_join(cgroup->memory);
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

static void cgroup_remove(const Tree *trees, const char *name)
{
	rdmad_autofd int tree = tree_open(trees);

	for (guint i = 0; tree >= 0 && i < G_N_ELEMENTS(parents); i++) {
		g_autofree char *path = g_strconcat(parents[i], name, NULL);

		(void)unlinkat(tree, path, AT_REMOVEDIR);
	}
}

void rdmad_child_cgroup_end(RdmadChildCgroup *cgroup, const char *name)
{
	if (cgroup->cgroup >= 0) {
		cgroup_kill(cgroup->cgroup);
		cgroup_wait_empty(cgroup->cgroup);
		rdmad_clear_fd(&cgroup->cgroup);
		cgroup_remove(v2_trees, name);
	}
	if (cgroup->memory >= 0) {
		for (guint i = 0; i < EMPTY_TRIES && procs_kill(cgroup->memory); i++)
			poll(NULL, 0, EMPTY_TRY_MS / 10);
		rdmad_clear_fd(&cgroup->memory);
		cgroup_remove(memory_trees, name);
	}
	rdmad_clear_fd(&cgroup->oom);
}
