/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unix sockets
 *
 * Non-blocking and close-on-exec.  Paths may be longer than the 107 bytes that sun_path holds: they
 * are reached through their open directory, as long as the last component fits.
 */
#pragma once

#include <rdmad/unix-socket.h>
#include <sys/socket.h>
#include <sys/un.h>

/* For bind(), connect() and sendto(), until it is cleared. */
typedef struct {
	struct sockaddr_un un;
	socklen_t size;
	int directory; /* of a long path; -1 */
} RdmadUnixAddress;

#define RDMAD_UNIX_NO_ADDRESS                                                                      \
	{                                                                                          \
		{ .sun_family = AF_UNIX }, 0, -1                                                   \
	}

/* `path` may be a name in the abstract namespace, after an "@".  Sets errno as well. */
gboolean rdmad_unix_address_init(RdmadUnixAddress *address, const char *path, GError **error);
void rdmad_unix_address_clear(RdmadUnixAddress *address);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadUnixAddress, rdmad_unix_address_clear)

/* The file that was bound, so that only that one is ever unlinked. */
typedef struct {
	char *path;
	dev_t device;
	ino_t inode;
} RdmadUnixFile;

/*
 * Listens at `path` with `mode`, less the umask, from the first moment.  A stale socket (nobody
 * listens) is removed.  `type`: SOCK_STREAM or SOCK_SEQPACKET.
 *
 * RDMAD_ERROR_BUSY: a live socket or another kind of file is there.
 */
int rdmad_unix_listen(int type, const char *path, mode_t mode, int backlog, RdmadUnixFile *file,
		      GError **error);
/* Whether the file is still there; TRUE if that is unknown. */
gboolean rdmad_unix_file_in_place(const RdmadUnixFile *file);
/* Unlinks the file unless another has taken its place, and forgets it. */
void rdmad_unix_file_clear(RdmadUnixFile *file);

/* RDMAD_ERROR_UNAVAILABLE: nobody listens there now. */
int rdmad_unix_connect(int type, const char *path, GError **error);
/* Connects a socket that the caller made; 0 or errno. */
int rdmad_unix_connect_fd(int fd, const char *path);

/* TRUE when the other end is root or our own user. */
gboolean rdmad_unix_peer_trusted(int fd, uid_t *uid);
/* The process at the other end: the one that listened, or that connected.  0: of another PID namespace,
 * or not to be had. */
pid_t rdmad_unix_peer_process(int fd);
