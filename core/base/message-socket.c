/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "socket"

#include <rdmad/message-socket.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/owned.h"
#include "base/unix-socket.h"

#define BACKLOG	       128
#define ACCEPTS_A_TURN 16
#define RETRY_MS       1000u
#define PEERS_MAX      64u

gboolean rdmad_message_pair(int *ours, int *theirs, GError **error)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rdmad_error_errno(error, errno, "cannot make a pair of sockets");
	*ours = pair[0];
	*theirs = pair[1];
	return TRUE;
}

/* ---- one message ---- */

typedef union {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(RDMAD_MESSAGE_FDS_MAX * sizeof(int))];
} Control;

void rdmad_message_free(RdmadMessage *message)
{
	if (!message)
		return;
	for (guint i = 0; i < message->n_fds; i++)
		rdmad_clear_fd(&message->fds[i]);
	g_free(message->bytes);
	g_free(message);
}

static void control_put_fds(struct msghdr *header, Control *control, const int *fds, guint n)
{
	struct cmsghdr *cmsg;

	memset(control, 0, sizeof(*control));
	header->msg_control = control;
	header->msg_controllen = CMSG_SPACE(n * sizeof(int));
	cmsg = CMSG_FIRSTHDR(header);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, n * sizeof(int));
}

static gboolean send_error(int errnum, GError **error)
{
	const RdmadError code = errnum == EPIPE || errnum == ECONNRESET ? RDMAD_ERROR_GONE
				: errnum == EAGAIN			? RDMAD_ERROR_UNAVAILABLE
				: errnum == EMSGSIZE			? RDMAD_ERROR_LIMIT
									: RDMAD_ERROR_FAILED;

	g_set_error(error, RDMAD_ERROR, code, "cannot send a message: %s", g_strerror(errnum));
	return FALSE;
}

gboolean rdmad_message_send(int socket, const void *bytes, gsize size, const int *fds, guint n_fds,
			    GError **error)
{
	struct iovec part = { (void *)bytes, size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	Control control;
	ssize_t sent;

	/* The receiver would take an empty message for the end of the connection. */
	g_assert(size > 0);
	if (size > RDMAD_MESSAGE_SIZE_MAX || n_fds > RDMAD_MESSAGE_FDS_MAX)
		return send_error(EMSGSIZE, error);
	if (n_fds)
		control_put_fds(&header, &control, fds, n_fds);
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent >= 0 || send_error(errno, error);
}

/* Takes over all received descriptors, so that none leaks.  Returns FALSE if there are too many. */
static gboolean message_take_fds(RdmadMessage *message, struct msghdr *header, guint max)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		const gsize size = cmsg->cmsg_len - CMSG_LEN(0);

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&message->fds[message->n_fds], CMSG_DATA(cmsg), size);
		message->n_fds += size / sizeof(int);
	}
	return message->n_fds <= max && !(header->msg_flags & MSG_CTRUNC);
}

static RdmadMessage *receive_error(RdmadError code, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, code, "cannot receive a message: %s", why);
	return NULL;
}

RdmadMessage *rdmad_message_receive(int socket, const RdmadMessageLimits *limits, GError **error)
{
	const gsize max = MIN(limits->size_max ?: RDMAD_MESSAGE_SIZE_MAX, RDMAD_MESSAGE_SIZE_MAX);
	g_autoptr(RdmadMessage) message = g_new0(RdmadMessage, 1);
	struct iovec part = { message->bytes = g_malloc(max + 1), max };
	Control control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return receive_error(RDMAD_ERROR_UNAVAILABLE, "there is none", error);
	if (n < 0 && errno != ECONNRESET)
		return receive_error(RDMAD_ERROR_FAILED, g_strerror(errno), error);
	if (n >= 0 && !message_take_fds(message, &header, limits->fds_max))
		return receive_error(RDMAD_ERROR_LIMIT, "too many descriptors", error);
	if (n <= 0)
		return receive_error(RDMAD_ERROR_GONE, "the other end is closed", error);
	if (header.msg_flags & MSG_TRUNC)
		return receive_error(RDMAD_ERROR_LIMIT, "it is too large", error);
	message->size = (gsize)n;
	message->bytes = g_realloc(message->bytes, message->size + 1);
	message->bytes[n] = '\0';
	return g_steal_pointer(&message);
}

/* ---- peers ---- */

struct RdmadMessagePeer {
	RdmadOwned owned; /* of a peer without a server */
	RdmadMessageServer *server;
	GList node; /* in the server's list */
	int fd;
	pid_t pid;
	RdmadEvent *io, *deadline;
	RdmadMessageLimits limits;
	const RdmadMessageOps *ops;
	gpointer data;
	guint unanswered;
	gboolean known; /* the user of the socket knows the peer */
};

struct RdmadMessageServer {
	RdmadOwned owned;
	RdmadLoop *loop;
	RdmadUnixFile file;
	int fd;
	RdmadEvent *io, *retry;
	RdmadMessageLimits limits;
	const RdmadMessageOps *ops;
	gpointer data;
	GQueue peers; /* RdmadMessagePeer, linked by their own nodes */
};

void rdmad_message_peer_close(RdmadMessagePeer *peer)
{
	if (!peer)
		return;
	if (peer->server)
		g_queue_unlink(&peer->server->peers, &peer->node);
	if (peer->owned.list)
		rdmad_owned_leave(&peer->owned);
	rdmad_event_free(peer->io);
	rdmad_event_free(peer->deadline);
	rdmad_clear_fd(&peer->fd);
	g_free(peer);
}

int rdmad_message_peer_release(RdmadMessagePeer *peer)
{
	const int fd = rdmad_steal_fd(&peer->fd);

	rdmad_message_peer_close(peer);
	return fd;
}

static void peer_end(RdmadMessagePeer *peer)
{
	if (peer->known)
		peer->ops->gone(peer, peer->data);
	rdmad_message_peer_close(peer);
}

static void peer_refuse(RdmadMessagePeer *peer, const char *why)
{
	rdmad_notice("process %d: connection closed: %s", (int)peer->pid, why);
	peer_end(peer);
}

static void peer_timeout(gpointer data)
{
	peer_refuse(data, "it sent nothing in time");
}

static void peer_wait(RdmadMessagePeer *peer)
{
	if (peer->limits.deadline_ms && peer->unanswered == 0)
		rdmad_event_arm(peer->deadline, peer->limits.deadline_ms);
	else
		rdmad_event_disarm(peer->deadline);
}

static void peer_ready(int fd, RdmadIo ready, gpointer data)
{
	RdmadMessagePeer *peer = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadMessage) message = rdmad_message_receive(fd, &peer->limits, &error);

	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE))
		return;
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE)) {
		peer_end(peer);
		return;
	}
	if (!message || peer->unanswered >= (peer->limits.unanswered_max ?: 1)) {
		peer_refuse(peer, message ? "it did not wait for an answer" : error->message);
		return;
	}
	peer->known = TRUE;
	peer->unanswered++;
	peer_wait(peer);
	peer->ops->message(peer, message, peer->data);
}

/* Closes `fd` and returns NULL if the loop cannot watch it. */
static RdmadMessagePeer *peer_new(RdmadLoop *loop, int fd, const RdmadMessageLimits *limits,
				  const RdmadMessageOps *ops, gpointer data, GError **error)
{
	RdmadMessagePeer *peer = g_new0(RdmadMessagePeer, 1);
	struct ucred credentials = { 0 };
	socklen_t size = sizeof(credentials);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0)
		peer->pid = credentials.pid;
	peer->fd = fd;
	peer->node.data = peer;
	peer->limits = *limits;
	peer->ops = ops;
	peer->data = data;
	peer->io = rdmad_loop_add_io(loop, NULL, fd, RDMAD_IO_READ, peer_ready, peer, error);
	if (!peer->io) {
		close(fd);
		g_free(peer);
		return NULL;
	}
	peer->deadline = rdmad_loop_add_timer(loop, NULL, peer_timeout, peer);
	peer_wait(peer);
	return peer;
}

static void peer_reap(gpointer object)
{
	rdmad_message_peer_close(object);
}

RdmadMessagePeer *rdmad_message_peer_new(RdmadLoop *loop, RdmadModule *owner, int socket,
					 const RdmadMessageLimits *limits,
					 const RdmadMessageOps *ops, gpointer data, GError **error)
{
	RdmadMessagePeer *peer;

	fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
	peer = peer_new(loop, socket, limits, ops, data, error);
	if (!peer)
		return NULL;
	peer->known = TRUE;
	rdmad_owned_enter(&peer->owned, loop, owner, peer_reap, peer);
	return peer;
}

gboolean rdmad_message_peer_send(RdmadMessagePeer *peer, const void *bytes, gsize size,
				 const int *fds, guint n_fds, GError **error)
{
	if (!rdmad_message_send(peer->fd, bytes, size, fds, n_fds, error))
		return FALSE;
	if (peer->unanswered > 0)
		peer->unanswered--;
	peer_wait(peer);
	return TRUE;
}

/* ---- the server ---- */

static void server_admit(RdmadMessageServer *server, int fd)
{
	rdmad_autofd int owned_fd = fd;
	uid_t uid = (uid_t)-1;
	g_autoptr(GError) error = NULL;
	RdmadMessagePeer *peer;

	if (!rdmad_unix_peer_trusted(fd, &uid)) {
		rdmad_notice("%s: refused uid %u", server->file.path, uid);
		return;
	}
	if (server->peers.length >= (server->limits.peers_max ?: PEERS_MAX)) {
		rdmad_notice("%s: %u connections are open, one more was refused", server->file.path,
			     server->peers.length);
		return;
	}
	peer = peer_new(server->loop, rdmad_steal_fd(&owned_fd), &server->limits, server->ops,
			server->data, &error);
	if (!peer) {
		rdmad_warn("%s: a connection is refused: %s", server->file.path, error->message);
		return;
	}
	peer->server = server;
	g_queue_push_tail_link(&server->peers, &peer->node);
}

static void server_ready(int fd, RdmadIo ready, gpointer data)
{
	RdmadMessageServer *server = data;

	for (guint i = 0; i < ACCEPTS_A_TURN; i++) {
		const int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (peer >= 0) {
			server_admit(server, peer);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		/* No descriptors or memory: the socket stays readable, so it is ignored for a
		 * while. */
		rdmad_warn("%s: cannot accept: %s", server->file.path, g_strerror(errno));
		rdmad_event_want(server->io, 0);
		rdmad_event_arm(server->retry, RETRY_MS);
		return;
	}
}

static void server_retry(gpointer data)
{
	RdmadMessageServer *server = data;

	if (!rdmad_event_want(server->io, RDMAD_IO_READ))
		rdmad_event_arm(server->retry, RETRY_MS);
}

static void server_reap(gpointer object)
{
	rdmad_message_server_free(object);
}

RdmadMessageServer *rdmad_message_server_new(RdmadLoop *loop, RdmadModule *owner, const char *path,
					     const RdmadMessageLimits *limits,
					     const RdmadMessageOps *ops, gpointer data,
					     GError **error)
{
	RdmadUnixFile file = { NULL };
	const int fd = rdmad_unix_listen(SOCK_SEQPACKET, path, 0600, BACKLOG, &file, error);
	RdmadMessageServer *server;

	if (fd < 0)
		return NULL;
	server = g_new0(RdmadMessageServer, 1);
	server->loop = loop;
	server->file = file;
	server->fd = fd;
	server->limits = *limits;
	server->ops = ops;
	server->data = data;
	g_queue_init(&server->peers);
	server->io = rdmad_loop_add_io(loop, NULL, fd, RDMAD_IO_READ, server_ready, server, error);
	if (!server->io) {
		rdmad_unix_file_clear(&server->file);
		close(fd);
		g_free(server);
		return NULL;
	}
	server->retry = rdmad_loop_add_timer(loop, NULL, server_retry, server);
	rdmad_owned_enter(&server->owned, loop, owner, server_reap, server);
	return server;
}

void rdmad_message_server_free(RdmadMessageServer *server)
{
	if (!server)
		return;
	rdmad_owned_leave(&server->owned);
	while (server->peers.head)
		rdmad_message_peer_close(server->peers.head->data);
	rdmad_event_free(server->io);
	rdmad_event_free(server->retry);
	rdmad_clear_fd(&server->fd);
	rdmad_unix_file_clear(&server->file);
	g_free(server);
}
