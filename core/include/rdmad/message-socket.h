/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that carry descriptors, over unix sockets of type SOCK_SEQPACKET
 *
 * A message arrives whole or not at all.  Descriptors are close-on-exec; those of a message that is
 * refused are closed.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

#define RDMAD_MESSAGE_SIZE_MAX 131072u /* a socket's default buffer holds one of this size */
#define RDMAD_MESSAGE_FDS_MAX  16u

typedef struct {
	guint8 *bytes;			/* and a NUL that is not counted */
	gsize size;			/* at least 1 */
	int fds[RDMAD_MESSAGE_FDS_MAX]; /* rdmad_steal_fd() keeps one */
	guint n_fds;
} RdmadMessage;

RDMAD_API void rdmad_message_free(RdmadMessage *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadMessage, rdmad_message_free)

/* 0 of a maximum: the largest that is possible, but for `fds_max`: none. */
typedef struct {
	guint size_max;
	guint fds_max;
	guint peers_max;      /* of a server; 0: 64 */
	guint unanswered_max; /* messages of a peer that were not answered yet; 0: 1 */
	guint deadline_ms;    /* for a peer to send when it has nothing to wait for; 0: for ever */
} RdmadMessageLimits;

/* ---- on any thread: one message each; they block where the socket does ---- */

/* Two connected sockets, one for another process; the caller's. */
RDMAD_API gboolean rdmad_message_pair(int *ours, int *theirs, GError **error);

/* `fds` stay the caller's.  RDMAD_ERROR_GONE: the other end is closed; RDMAD_ERROR_UNAVAILABLE: no
 * room now; RDMAD_ERROR_LIMIT: too large. */
RDMAD_API gboolean rdmad_message_send(int socket, const void *bytes, gsize size, const int *fds,
				      guint n_fds, GError **error);
/* RDMAD_ERROR_GONE: the other end is closed; RDMAD_ERROR_UNAVAILABLE: nothing there now;
 * RDMAD_ERROR_LIMIT: larger than `limits`. */
RDMAD_API RdmadMessage *rdmad_message_receive(int socket, const RdmadMessageLimits *limits,
					      GError **error);

/* ---- on the loop ---- */

typedef struct {
	/* The descriptors that are left in `message` are closed, and it is freed, after the
	 * call. */
	void (*message)(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data);
	/* The peer hung up, broke a limit or was too late; one of a server has sent something
	 * before.  It is invalid after the call.  Not called after rdmad_message_peer_close(). */
	void (*gone)(RdmadMessagePeer *peer, gpointer data);
} RdmadMessageOps;

/* Listens at `path` with mode 0600; only root and rdmad's own user may connect (SO_PEERCRED).
 * `limits` is copied, `ops` must outlive the server.  RDMAD_ERROR_BUSY: another server listens
 * there. */
RDMAD_API RdmadMessageServer *rdmad_message_server_new(RdmadLoop *loop, RdmadModule *owner,
						       const char *path,
						       const RdmadMessageLimits *limits,
						       const RdmadMessageOps *ops, gpointer data,
						       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Closes its peers, without `gone`, and removes the file.  NULL is fine. */
RDMAD_API void rdmad_message_server_free(RdmadMessageServer *server);

/* The loop's side of a connected socket, a socketpair's for example, which is taken over. */
RDMAD_API RdmadMessagePeer *rdmad_message_peer_new(RdmadLoop *loop, RdmadModule *owner, int socket,
						   const RdmadMessageLimits *limits,
						   const RdmadMessageOps *ops, gpointer data,
						   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sends an answer, or a message of its own.  Errors as those of rdmad_message_send(). */
RDMAD_API gboolean rdmad_message_peer_send(RdmadMessagePeer *peer, const void *bytes, gsize size,
					   const int *fds, guint n_fds, GError **error);
/* NULL is fine. */
RDMAD_API void rdmad_message_peer_close(RdmadMessagePeer *peer);
/* The process that connected, as it was then; 0: unknown. */
RDMAD_API pid_t rdmad_message_peer_pid(const RdmadMessagePeer *peer);
