/* SPDX-License-Identifier: Apache-2.0 */
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "epoll.h"

#define ROOM	 212992u /* net.core.wmem_default */
#define OVERHEAD 768u	 /* of the kernel for each message, which counts too */
#define FDS_MAX	 253u

enum { RECEIVING = 1, SENDING = 2 }; /* bits of a shutdown */

typedef struct Socket {
	Open open;
	int type, error;
	ino_t number;	     /* of its file; 0: none */
	struct Socket *peer; /* NULL: never connected, or the other end is closed */
	gboolean listens, connected;
	guint shut;
	gsize unread;	 /* what the peer has not received, with the overhead */
	GQueue received; /* of Message */
	GQueue waiting;	 /* of Socket: ends to accept */
	guint backlog;
} Socket;

typedef struct {
	gsize size, at; /* `at` bytes are received already */
	guint n_fds;
	Open **fds;
	guint8 bytes[];
} Message;

static GSList *listening; /* of Socket */

static const OpenKind socket_kind;

static Socket *socket_of(int fd)
{
	return descriptor_of_kind(fd, &socket_kind);
}

gboolean sockets_has(int fd)
{
	return socket_of(fd) != NULL;
}

static int error_take(Socket *socket)
{
	const int error = socket->error;

	socket->error = 0;
	return error;
}

/* ---- life cycle ---- */

static Socket *socket_new(int type)
{
	Socket *socket = g_new0(Socket, 1);

	socket->open.kind = &socket_kind;
	socket->open.flags = O_RDWR | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	socket->open.mode = S_IFSOCK | 0777;
	socket->type = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	g_queue_init(&socket->received);
	g_queue_init(&socket->waiting);
	return socket;
}

static void pair_up(Socket *a, Socket *b)
{
	a->peer = b;
	b->peer = a;
	a->connected = b->connected = TRUE;
}

static void message_free(gpointer data)
{
	Message *message = data;

	for (guint i = 0; i < message->n_fds; i++)
		if (message->fds[i])
			open_unref(message->fds[i]);
	g_free(message->fds);
	g_free(message);
}

/* An end that nobody has accepted, or with unread messages, resets the connection. */
static void peer_leave(Socket *socket, gboolean resets)
{
	Socket *peer = socket->peer;

	if (!peer)
		return;
	peer->shut = RECEIVING | SENDING;
	peer->peer = NULL;
	if (resets)
		peer->error = ECONNRESET;
	epoll_wake(&peer->open, 0);
}

static void socket_end(Open *open)
{
	Socket *socket = (Socket *)open, *end;

	listening = g_slist_remove(listening, socket);
	peer_leave(socket, socket->received.length > 0);
	g_queue_clear_full(&socket->received, message_free);
	while ((end = g_queue_pop_head(&socket->waiting))) {
		peer_leave(end, TRUE);
		end->peer = NULL;
		open_unref(&end->open);
	}
	g_free(socket);
}

/* ---- readiness ---- */

static gboolean is_writable(const Socket *socket)
{
	return socket->unread <= ROOM / 4;
}

static guint32 socket_ready(const Open *open)
{
	const Socket *socket = (const Socket *)open;
	guint32 ready = socket->error ? EPOLLERR : 0;

	if (socket->shut == (RECEIVING | SENDING) || (!socket->connected && !socket->listens))
		ready |= EPOLLHUP;
	if (socket->shut & RECEIVING)
		ready |= EPOLLRDHUP | EPOLLIN;
	if (socket->received.length || socket->waiting.length)
		ready |= EPOLLIN;
	if (is_writable(socket))
		ready |= EPOLLOUT;
	return ready;
}

/* ---- sending ---- */

static gsize parts_size(const struct msghdr *message)
{
	gsize size = 0;

	for (gsize i = 0; i < message->msg_iovlen; i++)
		size += message->msg_iov[i].iov_len;
	return size;
}

static void fds_carry(Message *message, const struct msghdr *header)
{
	const struct cmsghdr *control = header->msg_controllen ? CMSG_FIRSTHDR(header) : NULL;
	const int *fds;

	if (!control)
		return;
	g_assert_cmpint(control->cmsg_type, ==, SCM_RIGHTS);
	message->n_fds = (guint)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	message->fds = g_new(Open *, message->n_fds);
	fds = (const int *)(gconstpointer)CMSG_DATA(control);
	for (guint i = 0; i < message->n_fds; i++) {
		g_assert_nonnull(descriptor_open(fds[i]));
		message->fds[i] = open_ref(descriptor_open(fds[i]));
	}
}

static Message *message_new(const struct msghdr *header, gsize size)
{
	Message *message = g_malloc0(sizeof(*message) + size);

	for (gsize i = 0; i < header->msg_iovlen && message->size < size; i++) {
		const gsize n = MIN(header->msg_iov[i].iov_len, size - message->size);

		memcpy(message->bytes + message->size, header->msg_iov[i].iov_base, n);
		message->size += n;
	}
	fds_carry(message, header);
	return message;
}

/* Returns 0, or the errno with which a message is refused. */
static int sending_refused(Socket *socket, gsize size)
{
	const gboolean is_packet = socket->type == SOCK_SEQPACKET;
	const int error = is_packet ? error_take(socket) : 0;

	if (error)
		return error;
	if (!socket->connected)
		return ENOTCONN;
	if (is_packet && size > ROOM - 32)
		return EMSGSIZE;
	if (socket->shut & SENDING)
		return EPIPE;
	if (socket->error)
		return error_take(socket);
	if (socket->unread < ROOM)
		return 0;
	g_assert_true(socket->open.flags & O_NONBLOCK);
	return EAGAIN;
}

static gssize socket_send(Socket *socket, const struct msghdr *header)
{
	gsize size = parts_size(header);
	const int error = sending_refused(socket, size);
	Message *message;

	if (error)
		return descriptor_fail(error);
	if (!size)
		return 0;
	if (socket->type == SOCK_STREAM)
		size = MIN(size, ROOM - socket->unread);
	message = message_new(header, size);
	socket->unread += size + OVERHEAD;
	g_queue_push_tail(&socket->peer->received, message);
	epoll_wake(&socket->peer->open, EPOLLIN);
	return (gssize)size;
}

/* ---- receiving ---- */

/* `room` is that of the caller's control message. */
static void fds_take(Message *message, struct msghdr *header, gsize room)
{
	struct cmsghdr *control = (struct cmsghdr *)header->msg_control;
	int fds[FDS_MAX];

	if (!message->n_fds)
		return;
	g_assert_cmpuint(room, >=, CMSG_SPACE(message->n_fds * sizeof(int)));
	for (guint i = 0; i < message->n_fds; i++) {
		fds[i] = descriptor_new(message->fds[i]);
		open_unref(g_steal_pointer(&message->fds[i]));
	}
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(message->n_fds * sizeof(int));
	memcpy(CMSG_DATA(control), fds, message->n_fds * sizeof(int));
	header->msg_controllen = CMSG_SPACE(message->n_fds * sizeof(int));
	message->n_fds = 0;
}

static void message_drop(Socket *socket)
{
	Message *message = g_queue_pop_head(&socket->received);

	if (socket->peer) {
		socket->peer->unread -= message->size + OVERHEAD;
		if (is_writable(socket->peer))
			epoll_wake(&socket->peer->open, EPOLLOUT);
	}
	message_free(message);
}

/* Receives from one message, or from the next ones too if it is a stream.  At the end of the
 * connection, too, the kernel writes that there is no control message. */
static gsize messages_take(Socket *socket, struct msghdr *header, gboolean peek)
{
	const struct iovec *part = header->msg_iov;
	const gsize room = header->msg_controllen;
	Message *message;
	gsize taken = 0;
	gboolean more = TRUE;

	header->msg_controllen = 0;
	header->msg_flags = 0;
	while (more && (message = g_queue_peek_head(&socket->received))) {
		const gsize n = MIN(message->size - message->at, part->iov_len - taken);

		memcpy((guint8 *)part->iov_base + taken, message->bytes + message->at, n);
		taken += n;
		if (peek)
			break;
		more = socket->type == SOCK_STREAM && !message->n_fds && taken < part->iov_len;
		message->at += n;
		fds_take(message, header, room);
		if (socket->type == SOCK_SEQPACKET && message->at < message->size)
			header->msg_flags |= MSG_TRUNC;
		if (socket->type == SOCK_SEQPACKET || message->at == message->size)
			message_drop(socket);
	}
	return taken;
}

static gssize socket_receive(Socket *socket, struct msghdr *header, int flags)
{
	g_assert_cmpuint(header->msg_iovlen, ==, 1);
	if (!socket->connected)
		return descriptor_fail(socket->type == SOCK_STREAM ? EINVAL : ENOTCONN);
	if (socket->error && (socket->type == SOCK_SEQPACKET || !socket->received.length))
		return descriptor_fail(error_take(socket));
	if (!socket->received.length && !(socket->shut & RECEIVING)) {
		g_assert_true(flags & MSG_DONTWAIT || socket->open.flags & O_NONBLOCK);
		return descriptor_fail(EAGAIN);
	}
	return (gssize)messages_take(socket, header, (flags & MSG_PEEK) != 0);
}

static gssize socket_read(Open *open, void *bytes, gsize size)
{
	struct iovec part = { bytes, size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	return socket_receive((Socket *)open, &header, 0);
}

static gssize socket_write(Open *open, const void *bytes, gsize size)
{
	struct iovec part = { (void *)bytes, size };
	const struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	return socket_send((Socket *)open, &header);
}

static const OpenKind socket_kind = { socket_end, socket_ready, socket_read, socket_write };

/* ---- for calls with effects (calls.c) ---- */

void sockets_bind(int fd, ino_t number)
{
	socket_of(fd)->number = number;
}

/* A socket that was shut down receives no connections, whoever has a copy of it. */
static Socket *listening_at(ino_t number)
{
	for (const GSList *l = listening; l; l = l->next) {
		Socket *socket = l->data;

		if (socket->number == number && !(socket->shut & RECEIVING))
			return socket;
	}
	return NULL;
}

int sockets_connect(int fd, ino_t number)
{
	Socket *socket = socket_of(fd), *to = listening_at(number), *end;

	if (!to)
		return descriptor_fail(ECONNREFUSED);
	if (to->type != socket->type)
		return descriptor_fail(EPROTOTYPE);
	if (to->waiting.length > to->backlog)
		return descriptor_fail(EAGAIN);
	end = socket_new(socket->type);
	pair_up(socket, end);
	g_queue_push_tail(&to->waiting, open_ref(&end->open));
	epoll_wake(&to->open, EPOLLIN);
	return 0;
}

int sockets_accept(int fd, int flags)
{
	Socket *end = g_queue_pop_head(&socket_of(fd)->waiting);
	int accepted;

	if (!end)
		return descriptor_fail(EAGAIN);
	end->open.flags |= flags & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	accepted = descriptor_new(&end->open);
	open_unref(&end->open);
	return accepted;
}

int sockets_shutdown(int fd, int how)
{
	Socket *socket = socket_of(fd);
	const guint mode = (guint)how + 1;

	socket->shut |= mode;
	epoll_wake(&socket->open, 0);
	if (socket->peer) {
		socket->peer->shut |=
			(mode & RECEIVING ? SENDING : 0) | (mode & SENDING ? RECEIVING : 0);
		epoll_wake(&socket->peer->open, 0);
	}
	return 0;
}

gssize sockets_send(int fd, const struct msghdr *message)
{
	return socket_send(socket_of(fd), message);
}

gssize sockets_receive(int fd, struct msghdr *message, int flags)
{
	return socket_receive(socket_of(fd), message, flags);
}

/* ---- replaced functions ---- */

int socket(int domain, int type, int protocol)
{
	const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (domain != AF_UNIX || (kind != SOCK_STREAM && kind != SOCK_SEQPACKET))
		return (int)syscall(SYS_socket, domain, type, protocol);
	return descriptor_new(&socket_new(type)->open);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
	Socket *a = socket_new(type), *b = socket_new(type);

	g_assert_cmpint(domain, ==, AF_UNIX);
	pair_up(a, b);
	ends[0] = descriptor_new(&a->open);
	ends[1] = descriptor_new(&b->open);
	return 0;
}

/* libevent makes one for signals, and uses none. */
int pipe2(int ends[2], int flags)
{
	return socketpair(AF_UNIX, SOCK_STREAM | flags, 0, ends);
}

int listen(int fd, int backlog)
{
	Socket *socket = socket_of(fd);

	if (!socket)
		return (int)syscall(SYS_listen, fd, backlog);
	if (!socket->number)
		return descriptor_fail(EINVAL);
	socket->backlog = (guint)backlog;
	if (!socket->listens)
		listening = g_slist_prepend(listening, socket);
	socket->listens = TRUE;
	return 0;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	return sockets_has(fd) ? 0 : (int)syscall(SYS_setsockopt, fd, level, option, value, size);
}

int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict size)
{
	if (!sockets_has(fd))
		return (int)syscall(SYS_getsockname, fd, address, size);
	address->sa_family = AF_UNIX;
	*size = sizeof(address->sa_family);
	return 0;
}
