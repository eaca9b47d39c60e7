/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that carry descriptors, over unix sockets of type SOCK_SEQPACKET
 *
 * A message arrives whole or not at all.  Received descriptors are close-on-exec; the descriptors
 * of a rejected message are closed.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_MESSAGE_SIZE_MAX 131072u /* a socket's default buffer holds one of this size */
#define RDMAD_MESSAGE_FDS_MAX  16u

typedef struct {
	guint8 *bytes;			/* followed by a NUL that is not counted */
	gsize size;			/* bytes, at least 1 */
	int fds[RDMAD_MESSAGE_FDS_MAX]; /* closed with the message unless they were stolen */
	guint n_fds;
} RdmadMessage;

/* Does nothing if `message` is NULL. */
RDMAD_API void rdmad_message_free(RdmadMessage *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadMessage, rdmad_message_free)

/* Limits of received messages and of peers. */
typedef struct {
	guint size_max;	      /* bytes; 0: RDMAD_MESSAGE_SIZE_MAX */
	guint fds_max;	      /* 0: none */
	guint peers_max;      /* connections of a server; 0: 64 */
	guint unanswered_max; /* messages of a peer without a response; 0: 1 */
	guint deadline_ms; /* until the next message of a peer that awaits no response; 0: none */
} RdmadMessageLimits;

/* ---- for any thread: one message; they block if the socket does ---- */

/* Makes two connected, close-on-exec sockets, one for another process; the caller closes both. */
RDMAD_API gboolean rdmad_message_pair(int *ours, int *theirs, GError **error);

/* Sends a message of at least one byte; the caller keeps `fds`.  RDMAD_ERROR_GONE: the other end is
 * closed; RDMAD_ERROR_UNAVAILABLE: no room now; RDMAD_ERROR_LIMIT: the message is too large. */
RDMAD_API gboolean rdmad_message_send(int socket, const void *bytes, gsize size, const int *fds,
				      guint n_fds, GError **error);
/* Receives a message.  RDMAD_ERROR_GONE: the other end is closed; RDMAD_ERROR_UNAVAILABLE: no
 * message now; RDMAD_ERROR_LIMIT: the message exceeds `size_max` or `fds_max`. */
RDMAD_API RdmadMessage *rdmad_message_receive(int socket, const RdmadMessageLimits *limits,
					      GError **error);

/* ---- on the loop ---- */

typedef struct {
	/* Called for each message, which is freed after the call, with the descriptors that are
	 * left in it. */
	void (*message)(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data);
	/* Called when the peer has disconnected, exceeded a limit or missed its deadline; it is
	 * invalid after the call.  Not called for a server's peer before its first message, nor
	 * after rdmad_message_peer_close(). */
	void (*gone)(RdmadMessagePeer *peer, gpointer data);
} RdmadMessageOps;

/* Listens at `path` with mode 0600; only root and rdmad's own user may connect (SO_PEERCRED,
 * unix(7)).  A stale socket is removed.  `limits` is copied, `ops` must outlive the server.
 * RDMAD_ERROR_BUSY: the path has a live socket or a file of another type. */
RDMAD_API RdmadMessageServer *rdmad_message_server_new(RdmadLoop *loop, RdmadModule *owner,
						       const char *path,
						       const RdmadMessageLimits *limits,
						       const RdmadMessageOps *ops, gpointer data,
						       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Closes its peers, without `gone`, and removes the file.  Does nothing if `server` is NULL. */
RDMAD_API void rdmad_message_server_free(RdmadMessageServer *server);

/* Takes over a connected socket, such as that of a pair, also on failure. */
RDMAD_API RdmadMessagePeer *rdmad_message_peer_new(RdmadLoop *loop, RdmadModule *owner, int socket,
						   const RdmadMessageLimits *limits,
						   const RdmadMessageOps *ops, gpointer data,
						   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sends a response, or another message.  Errors are those of rdmad_message_send(). */
RDMAD_API gboolean rdmad_message_peer_send(RdmadMessagePeer *peer, const void *bytes, gsize size,
					   const int *fds, guint n_fds, GError **error);
/* Closes the connection and frees the peer.  Does nothing if `peer` is NULL. */
RDMAD_API void rdmad_message_peer_close(RdmadMessagePeer *peer);
/* Frees the peer and returns its socket, with what is unread. */
RDMAD_API int rdmad_message_peer_release(RdmadMessagePeer *peer);
