/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unix-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/socket-file.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

gboolean rdmad_unix_address_init(RdmadUnixAddress *address, const char *path, GError **error)
{
	const gsize length = strlen(path), room = sizeof(address->un.sun_path);
	g_autofree char *parent = NULL, *name = NULL;
	int n;

	*address = (RdmadUnixAddress){ { .sun_family = AF_UNIX }, sizeof(address->un), -1 };
	if (length < room) {
		memcpy(address->un.sun_path, path, length);
		if (*path != '@')
			return TRUE;
		address->un.sun_path[0] = '\0';
		address->size = G_STRUCT_OFFSET(struct sockaddr_un, sun_path) + length;
		return TRUE;
	}
	parent = g_path_get_dirname(path);
	name = g_path_get_basename(path);
	address->directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (address->directory < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", parent);
	n = g_snprintf(address->un.sun_path, room, "/proc/self/fd/%d/%s", address->directory, name);
	if (n < (int)room)
		return TRUE;
	rdmad_unix_address_clear(address);
	errno = ENAMETOOLONG;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%s: the name is too long for a socket", path);
	return FALSE;
}

void rdmad_unix_address_clear(RdmadUnixAddress *address)
{
	rdmad_clear_fd(&address->directory);
}

static int socket_open(int type, const char *path, GError **error)
{
	const int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		rdmad_error_errno(error, errno, "cannot make a socket for %s", path);
	return fd;
}

static gboolean busy(const char *path, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "%s: %s", path, why);
	return FALSE;
}

/* Removes a stale socket at `path`, or fails with the reason. */
static gboolean remove_stale(const char *path, GError **error)
{
	struct stat st;
	int errnum;

	if (lstat(path, &st) < 0)
		return errno == ENOENT || rdmad_error_errno(error, errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return busy(path, "the file is not a socket", error);
	errnum = rdmad_unix_probe(path);
	/* EAGAIN: the backlog is full.  EPROTOTYPE: the socket has another type. */
	if (errnum == 0 || errnum == EAGAIN || errnum == EPROTOTYPE)
		return busy(path, "another process listens there", error);
	if (errnum != ECONNREFUSED && errnum != ENOENT)
		return rdmad_error_errno(error, errnum, "%s: cannot determine whether it is in use",
					 path);
	if (unlink(path) < 0 && errno != ENOENT)
		return rdmad_error_errno(error, errno, "cannot remove the stale socket %s", path);
	return TRUE;
}

static gboolean bind_to(int fd, const char *path, const RdmadUnixAddress *address, mode_t mode,
			GError **error)
{
	/* The file gets the mode of the socket's inode, less the umask, so it is never too wide. */
	if (fchmod(fd, mode) < 0)
		return rdmad_error_errno(error, errno, "cannot set the mode of %s", path);
	if (bind(fd, (const struct sockaddr *)&address->un, address->size) == 0)
		return TRUE;
	if (errno == EADDRINUSE)
		return busy(path, "another process has just taken it", error);
	return rdmad_error_errno(error, errno, "cannot bind %s", path);
}

int rdmad_unix_listen(int type, const char *path, mode_t mode, int backlog, RdmadUnixFile *file,
		      GError **error)
{
	g_auto(RdmadUnixAddress) address = RDMAD_UNIX_NO_ADDRESS;
	rdmad_autofd int fd = -1;
	struct stat st;

	if (!rdmad_unix_address_init(&address, path, error) || !remove_stale(path, error))
		return -1;
	fd = socket_open(type, path, error);
	if (fd < 0 || !bind_to(fd, path, &address, mode, error))
		return -1;
	if (lstat(path, &st) < 0 || listen(fd, backlog) < 0) {
		rdmad_error_errno(error, errno, "cannot listen at %s", path);
		return -1;
	}
	*file = (RdmadUnixFile){ g_strdup(path), st.st_dev, st.st_ino };
	return rdmad_steal_fd(&fd);
}

gboolean rdmad_unix_file_in_place(const RdmadUnixFile *file)
{
	struct stat st;

	if (lstat(file->path, &st) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return st.st_dev == file->device && st.st_ino == file->inode;
}

void rdmad_unix_file_clear(RdmadUnixFile *file)
{
	struct stat st;

	if (file->path && lstat(file->path, &st) == 0 && st.st_dev == file->device &&
	    st.st_ino == file->inode)
		unlink(file->path);
	g_clear_pointer(&file->path, g_free);
}

int rdmad_unix_connect_fd(int fd, const char *path)
{
	g_auto(RdmadUnixAddress) address = RDMAD_UNIX_NO_ADDRESS;

	if (!rdmad_unix_address_init(&address, path, NULL))
		return errno;
	return connect(fd, (const struct sockaddr *)&address.un, address.size) < 0 ? errno : 0;
}

int rdmad_unix_probe(const char *path)
{
	rdmad_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : rdmad_unix_connect_fd(fd, path);
}

int rdmad_unix_connect(int type, const char *path, GError **error)
{
	rdmad_autofd int fd = socket_open(type, path, error);
	int errnum;

	if (fd < 0)
		return -1;
	/* connect() on a unix socket succeeds or fails at once; EAGAIN: the backlog is full. */
	errnum = rdmad_unix_connect_fd(fd, path);
	if (errnum == 0)
		return rdmad_steal_fd(&fd);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "cannot connect to %s: %s", path,
		    g_strerror(errnum));
	return -1;
}

gboolean rdmad_unix_peer_trusted(int fd, uid_t *uid)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return FALSE;
	*uid = peer.uid;
	return peer.uid == 0 || peer.uid == geteuid();
}

pid_t rdmad_unix_peer_process(int fd)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? 0 : peer.pid;
}

gboolean rdmad_socket_file_identify(const char *path, RdmadSocketFile *file)
{
	struct stat st;

	*file = (RdmadSocketFile){ 0 };
	if (stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return FALSE;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->changed_ns = st.st_ctim.tv_sec * G_GINT64_CONSTANT(1000000000) + st.st_ctim.tv_nsec;
	return TRUE;
}

gboolean rdmad_socket_file_equal(const RdmadSocketFile *a, const RdmadSocketFile *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed_ns == b->changed_ns;
}

gboolean rdmad_socket_file_is_dead(const char *path)
{
	return rdmad_unix_probe(path) == ECONNREFUSED;
}
