/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/netns.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define OWN_NETNS  "/proc/thread-self/ns/net"
#define STACK_SIZE (512u * 1024)

gboolean rdmad_netns_id_equal(const RdmadNetnsId *a, const RdmadNetnsId *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static gboolean netns_invalid(const char *what, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s", what, why);
	return FALSE;
}

static gboolean netns_identify(int fd, const char *what, RdmadNetnsId *id, GError **error)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return rdmad_error_errno(error, errno, "cannot read %s", what);
	if (fs.f_type != NSFS_MAGIC)
		return netns_invalid(what, "not a network namespace", error);
	*id = (RdmadNetnsId){ st.st_dev, st.st_ino };
	return TRUE;
}

static gboolean netns_is_network(int fd, const char *what, GError **error)
{
	const int type = ioctl(fd, NS_GET_NSTYPE);

	if (type < 0 && errno != ENOTTY && errno != EBADF)
		return rdmad_error_errno(error, errno, "cannot get the type of %s", what);
	return type == CLONE_NEWNET || netns_invalid(what, "not a network namespace", error);
}

int rdmad_netns_open_own(RdmadNetnsId *id, GError **error)
{
	rdmad_autofd int fd = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);
	RdmadNetnsId unused;

	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot open %s", OWN_NETNS);
		return -1;
	}
	return netns_identify(fd, OWN_NETNS, id ?: &unused, error) ? rdmad_steal_fd(&fd) : -1;
}

static gboolean netns_check(int fd, const char *what, RdmadNetnsId *id, GError **error)
{
	RdmadNetnsId own, found;
	rdmad_autofd int own_fd = -1;

	if (!netns_identify(fd, what, &found, error) || !netns_is_network(fd, what, error))
		return FALSE;
	own_fd = rdmad_netns_open_own(&own, error);
	if (own_fd < 0)
		return FALSE;
	if (rdmad_netns_id_equal(&own, &found))
		return netns_invalid(what, "this is rdmad's own network namespace", error);
	if (id)
		*id = found;
	return TRUE;
}

gboolean rdmad_netns_check(int fd, RdmadNetnsId *id, GError **error)
{
	return netns_check(fd, "the descriptor", id, error);
}

/* Opens with O_PATH, which runs no driver of a device file and waits for no peer of a FIFO. */
static int netns_open_path(const char *path, GError **error)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	const gboolean absent = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (fd < 0)
		rdmad_error_errno(error, errno, "cannot open the network namespace %s", path);
	if (absent && error)
		(*error)->code = RDMAD_ERROR_NOT_FOUND;
	return fd;
}

int rdmad_netns_open(const char *path, RdmadNetnsId *id, GError **error)
{
	rdmad_autofd int path_fd = netns_open_path(path, error), fd = -1;
	g_autofree char *reopen = g_strdup_printf("/proc/self/fd/%d", path_fd);
	RdmadNetnsId unused;

	if (path_fd < 0 || !netns_identify(path_fd, path, &unused, error))
		return -1;
	fd = open(reopen, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		rdmad_error_errno(error, errno, "cannot open the network namespace %s", path);
	else if (netns_check(fd, path, id, error))
		return rdmad_steal_fd(&fd);
	return -1;
}

gboolean rdmad_netns_is_gone(const GError *error)
{
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) ||
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

/* ---- calls ---- */

typedef struct {
	int netns;
	RdmadNetnsFunc fn;
	gpointer data;
	gboolean ok;
	GError *error;
} Call;

static void *call_run(void *data)
{
	Call *call = data;

	if (setns(call->netns, CLONE_NEWNET) < 0)
		rdmad_error_errno(&call->error, errno, "cannot enter the network namespace");
	else
		call->ok = call->fn(call->data, &call->error);
	return NULL;
}

/* The thread blocks all signals: the main thread handles them.  See also work-pool.c. */
static int call_start(Call *call, pthread_t *thread)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(thread, &attr, call_run, call);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

gboolean rdmad_netns_call(int netns, RdmadNetnsFunc fn, gpointer data, GError **error)
{
	Call call = { netns, fn, data, FALSE, NULL };
	pthread_t thread;
	const int r = call_start(&call, &thread);

	if (r)
		return rdmad_error_errno(error, r, "cannot start a thread");
	pthread_join(thread, NULL);
	if (call.error)
		g_propagate_error(error, call.error);
	return call.ok;
}
