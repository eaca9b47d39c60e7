/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unix sockets
 *
 * Sockets are non-blocking and close-on-exec.  Paths may be longer than the 107 bytes of sun_path
 * if their last component fits: the rest is replaced by a descriptor of the directory.
 */
#pragma once

#include <rdmad/unix-socket.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An address for bind(), connect() and sendto(), valid until it is cleared. */
typedef struct {
	struct sockaddr_un un;
	socklen_t size;
	int directory; /* of a long path; else -1 */
} RdmadUnixAddress;

#define RDMAD_UNIX_NO_ADDRESS                                                                      \
	{                                                                                          \
		{ .sun_family = AF_UNIX }, 0, -1                                                   \
	}

/* `path` may be "@" and a name in the abstract namespace.  Sets errno as well. */
gboolean rdmad_unix_address_init(RdmadUnixAddress *address, const char *path, GError **error);
void rdmad_unix_address_clear(RdmadUnixAddress *address);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadUnixAddress, rdmad_unix_address_clear)

/* The identity of a bound file, so that no other file is unlinked. */
typedef struct {
	char *path;
	dev_t device;
	ino_t inode;
} RdmadUnixFile;

/*
 * Listens at `path`, created with `mode` less the umask.  Removes a stale socket, at which no
 * process listens.  `type` is SOCK_STREAM or SOCK_SEQPACKET.
 *
 * RDMAD_ERROR_BUSY: the socket is in use, or the file is not a socket.
 */
int rdmad_unix_listen(int type, const char *path, mode_t mode, int backlog, RdmadUnixFile *file,
		      GError **error);
/* Returns whether the file is still in place; TRUE if that is unknown. */
gboolean rdmad_unix_file_in_place(const RdmadUnixFile *file);
/* Unlinks the file unless another one has replaced it, and clears `file`. */
void rdmad_unix_file_clear(RdmadUnixFile *file);

/* RDMAD_ERROR_UNAVAILABLE: no process listens, or its backlog is full. */
int rdmad_unix_connect(int type, const char *path, GError **error);
/* Connects the caller's socket.  Returns 0 or an errno. */
int rdmad_unix_connect_fd(int fd, const char *path);

/* Returns TRUE if the peer is root or rdmad's user. */
gboolean rdmad_unix_peer_trusted(int fd, uid_t *uid);
/* Returns the peer's process, which listened or connected.  Returns 0 if it is unknown or in
 * another PID namespace. */
pid_t rdmad_unix_peer_process(int fd);
