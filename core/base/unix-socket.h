/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unix stream sockets
 *
 * Non-blocking and close-on-exec.  Paths may be longer than the 107 bytes that sun_path holds: they
 * are reached through their open directory.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* The file that was bound, so that only that one is ever unlinked. */
typedef struct {
	char *path;
	dev_t device;
	ino_t inode;
} RdmadUnixFile;

/*
 * Listens at `path` with `mode`, less the umask, from the first moment.  A stale socket (nobody
 * listens) is removed.
 *
 * RDMAD_ERROR_BUSY: a live socket or another kind of file is there.
 */
int rdmad_unix_listen(const char *path, mode_t mode, int backlog, RdmadUnixFile *file,
		      GError **error);
/* Whether it is still there; what cannot be looked at now is. */
gboolean rdmad_unix_file_in_place(const RdmadUnixFile *file);
/* Unlinks the file unless another has taken its place, and forgets it. */
void rdmad_unix_file_clear(RdmadUnixFile *file);

/* RDMAD_ERROR_UNAVAILABLE: nobody listens there now. */
int rdmad_unix_connect(const char *path, GError **error);

/* TRUE when the other end is root or our own user. */
gboolean rdmad_unix_peer_trusted(int fd, uid_t *uid);
/* The process at the other end: the one that listened, or that connected.  0: of another PID namespace,
 * or not to be had. */
pid_t rdmad_unix_peer_process(int fd);
