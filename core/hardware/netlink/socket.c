/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/socket.h"

#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdmad/error.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel responds at once, unless it waits for a lock that a driver holds during a firmware
 * command. */
#define ANSWER_SECONDS 5
#define DUMP_TRIES     5
#define RESULTS_MAX    65536u

/* The kernel puts at most 32 KiB of a dump into a datagram.  The message of one link is longer if
 * it has hundreds of virtual functions, or of alternative names, which a pod may give it: up to 64
 * KiB for each list. */
#define BUFFER_SIZE  (32u << 10)
#define DATAGRAM_MAX (16u << 20)
/* The kernel drops what comes behind a message that fills the socket, such as its
 * acknowledgement. */
#define SOCKET_SIZE (4 << 20)

struct RdmadNetlink {
	struct nl_sock *sock;
	int protocol;
	/* The rest of a response may still arrive: the next request needs another socket. */
	gboolean stale;
	char *buffer;
	gsize size; /* size of `buffer` */
	/* The current response. */
	RdmadNetlinkEach each;
	gpointer data;
	guint32 seq; /* of its request */
	gboolean done;
	int errnum; /* the kernel's error, or why there is no response; 0: none */
	char *text; /* the kernel's message, or NULL */
	gboolean too_long;
};

/* The last message reports a dump that failed half-way. */
static void answer_finished(RdmadNetlink *nl, const struct nlmsghdr *hdr)
{
	nl->done = TRUE;
	if (nlmsg_datalen(hdr) >= (int)sizeof(int))
		nl->errnum = -*(const int *)nlmsg_data(hdr);
}

/* Documentation/userspace-api/netlink/intro.rst, "Ext ACK". */
static char *error_text(const struct nlmsghdr *hdr, const struct nlmsgerr *err)
{
	int skip = sizeof(*err);
	const struct nlattr *text;

	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += nlmsg_datalen(&err->msg);
	text = nlmsg_find_attr((struct nlmsghdr *)hdr, skip, NLMSGERR_ATTR_MSG);
	return text ? g_strndup(nla_data(text), nla_len(text)) : NULL;
}

/* Also handles the acknowledgement, which is error 0. */
static void answer_error(RdmadNetlink *nl, const struct nlmsghdr *hdr)
{
	const struct nlmsgerr *err = nlmsg_data(hdr);

	nl->done = TRUE;
	if (nlmsg_datalen(hdr) < (int)sizeof(*err)) {
		nl->errnum = EIO;
		return;
	}
	nl->errnum = -err->error;
	g_free(nl->text);
	nl->text = err->error ? error_text(hdr, err) : NULL;
}

/* ---- the socket ---- */

/* `adopted` is a connected socket; -1: opens a new one. */
static gboolean socket_connect(RdmadNetlink *nl, int adopted, GError **error)
{
	const struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
	const int on = 1, size = SOCKET_SIZE;
	const int status = adopted < 0 ? nl_connect(nl->sock, nl->protocol)
				       : nl_socket_set_fd(nl->sock, nl->protocol, adopted);
	int fd;

	if (status < 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "cannot open a netlink socket for protocol %d: %s", nl->protocol,
			    nl_geterror(status));
		return FALSE;
	}
	fd = nl_socket_get_fd(nl->sock);
	/* Kernels before 4.12 have no messages; the error is ignored. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	/* Without CAP_NET_ADMIN, the kernel takes its limit, net.core.rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		return rdmad_error_errno(error, errno, "cannot limit the wait on netlink");
	return TRUE;
}

static gboolean socket_open(RdmadNetlink *nl, int adopted, GError **error)
{
	nl->sock = nl_socket_alloc();
	if (!nl->sock)
		g_error("out of memory");
	return socket_connect(nl, adopted, error);
}

static RdmadNetlink *netlink_new(int protocol)
{
	RdmadNetlink *nl = g_new0(RdmadNetlink, 1);

	nl->protocol = protocol;
	nl->size = BUFFER_SIZE;
	nl->buffer = g_malloc(nl->size);
	return nl;
}

RdmadNetlink *rdmad_netlink_open(int protocol, GError **error)
{
	g_autoptr(RdmadNetlink) nl = netlink_new(protocol);

	return socket_open(nl, -1, error) ? g_steal_pointer(&nl) : NULL;
}

RdmadNetlink *rdmad_netlink_adopt(int protocol, int socket, GError **error)
{
	g_autoptr(RdmadNetlink) nl = netlink_new(protocol);

	if (socket_open(nl, socket, error))
		return g_steal_pointer(&nl);
	if (nl_socket_get_fd(nl->sock) != socket)
		close(socket);
	return NULL;
}

int rdmad_netlink_fd(const RdmadNetlink *nl)
{
	return nl_socket_get_fd(nl->sock);
}

void rdmad_netlink_close(RdmadNetlink *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->sock);
	g_free(nl->buffer);
	g_free(nl->text);
	g_free(nl);
}

/* Returns whether the kernel itself ended the response; otherwise more of it may arrive.  libnl's
 * status does not tell: it is negative for the kernel's errors too. */
static gboolean answer_is_whole(const RdmadNetlink *nl)
{
	return nl->done && !nl->too_long;
}

/* `status` is libnl's status of the last read. */
static int answer_errnum(const RdmadNetlink *nl, int status)
{
	if (nl->too_long)
		return E2BIG;
	if (nl->errnum > 0 || status >= 0)
		return nl->errnum;
	switch (-status) {
	case NLE_AGAIN:
		return ETIMEDOUT;
	case NLE_DUMP_INTR:
		return EAGAIN;
	case NLE_NOMEM:
		return ENOBUFS;
	default:
		return EIO;
	}
}

static RdmadError answer_code(int errnum)
{
	switch (errnum) {
	case ENODEV:
	case ENOENT:
		return RDMAD_ERROR_NOT_FOUND;
	case E2BIG:
		return RDMAD_ERROR_LIMIT;
	case ETIMEDOUT:
		return RDMAD_ERROR_TIMEOUT;
	case EAGAIN:
	case ENOBUFS:
		return RDMAD_ERROR_UNAVAILABLE;
	default:
		return RDMAD_ERROR_FAILED;
	}
}

static const char *answer_problem(const RdmadNetlink *nl, int status)
{
	if (nl->too_long)
		return "too many entries in one answer";
	if (nl->errnum > 0)
		return g_strerror(nl->errnum);
	if (status == -NLE_DUMP_INTR)
		return "the list changed each time it was read";
	return status == -NLE_AGAIN ? "no answer from the kernel" : nl_geterror(status);
}

static gboolean answer_check(RdmadNetlink *nl, int status, GError **error)
{
	const int errnum = answer_errnum(nl, status);

	nl->stale = !answer_is_whole(nl);
	if (errnum > 0)
		g_set_error(error, RDMAD_ERROR, answer_code(errnum), "netlink: %s%s%s",
			    answer_problem(nl, status), nl->text ? ": " : "",
			    nl->text ? nl->text : "");
	nl->errnum = errnum;
	return errnum <= 0;
}

/* Resets the state, which must not be taken for that of the next request. */
static void answer_forget(RdmadNetlink *nl)
{
	nl->done = nl->too_long = FALSE;
	nl->errnum = 0;
	g_clear_pointer(&nl->text, g_free);
}

/* Returns the length of the next datagram, which may be longer than `size`; -1: errno is set. */
static gssize socket_read(const RdmadNetlink *nl, gsize size, int flags, struct sockaddr_nl *from)
{
	struct iovec part = { nl->buffer, size };
	struct msghdr msg = {
		.msg_name = from, .msg_namelen = sizeof(*from), .msg_iov = &part, .msg_iovlen = 1
	};
	gssize n;

	do
		n = recvmsg(nl_socket_get_fd(nl->sock), &msg, flags | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Returns the length of the datagram, or libnl's status.  libnl's function would copy each
 * message. */
static int datagram_receive(RdmadNetlink *nl)
{
	struct sockaddr_nl from = { 0 };
	gssize n = socket_read(nl, 0, MSG_PEEK, &from);

	if (n > (gssize)DATAGRAM_MAX)
		return -NLE_MSG_OVERFLOW;
	if (n > (gssize)nl->size) {
		nl->size = (gsize)n;
		nl->buffer = g_realloc(nl->buffer, nl->size);
	}
	if (n >= 0)
		n = socket_read(nl, nl->size, 0, &from);
	if (n < 0)
		return -nl_syserr2nlerr(errno);
	/* Ignores messages of other processes. */
	return from.nl_pid ? 0 : (int)n;
}

static void message_take(RdmadNetlink *nl, const struct nlmsghdr *hdr)
{
	switch (hdr->nlmsg_type) {
	case NLMSG_NOOP:
		break;
	case NLMSG_DONE:
		answer_finished(nl, hdr);
		break;
	case NLMSG_ERROR:
		answer_error(nl, hdr);
		break;
	case NLMSG_OVERRUN:
		nl->done = TRUE;
		nl->errnum = EIO;
		break;
	default:
		nl->too_long |= !nl->each(hdr, nl->data);
		break;
	}
}

/* Reads an interrupted dump to its end, so that the next response starts with its own messages. */
static int answer_read(RdmadNetlink *nl)
{
	gboolean interrupted = FALSE;

	while (!nl->done && !nl->too_long) {
		int left = datagram_receive(nl);

		if (left < 0)
			return left;
		for (const struct nlmsghdr *hdr = (gpointer)nl->buffer;
		     nlmsg_ok(hdr, left) && !nl->done && !nl->too_long;
		     hdr = nlmsg_next((struct nlmsghdr *)hdr, &left)) {
			if (hdr->nlmsg_seq != nl->seq)
				continue;
			interrupted |= (hdr->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
			message_take(nl, hdr);
		}
	}
	return interrupted && !nl->too_long ? -NLE_DUMP_INTR : 0;
}

static gboolean socket_refresh(RdmadNetlink *nl, GError **error)
{
	if (!nl->stale)
		return TRUE;
	/* Replaces libnl's socket too, whose sequence numbers would continue. */
	nl_socket_free(nl->sock);
	nl->errnum = EIO;
	nl->stale = !socket_open(nl, -1, error);
	return !nl->stale;
}

gboolean rdmad_netlink_ask_each(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkEach each,
				void (*restart)(gpointer data), gpointer data, GError **error)
{
	int status = -NLE_DUMP_INTR;
	gboolean ready = socket_refresh(nl, error);

	nl->each = each;
	nl->data = data;
	for (guint i = 0; ready && i < DUMP_TRIES && status == -NLE_DUMP_INTR; i++) {
		restart(data);
		answer_forget(nl);
		/* Each attempt gets its own sequence number. */
		nlmsg_hdr(request)->nlmsg_seq = NL_AUTO_SEQ;
		status = nl_send_auto(nl->sock, request);
		nl->seq = nlmsg_hdr(request)->nlmsg_seq;
		if (status >= 0)
			status = answer_read(nl);
	}
	nlmsg_free(request);
	return ready && answer_check(nl, status, error);
}

gboolean rdmad_netlink_stale(const RdmadNetlink *nl)
{
	return nl->stale;
}

int rdmad_netlink_errnum(const RdmadNetlink *nl)
{
	return nl->errnum;
}

typedef struct {
	RdmadNetlinkParse parse;
	GPtrArray *results;
} Collect;

static gboolean collect_each(const struct nlmsghdr *msg, gpointer data)
{
	const Collect *collect = data;

	if (collect->results->len >= RESULTS_MAX)
		return FALSE;
	collect->parse(msg, collect->results);
	return TRUE;
}

static void collect_restart(gpointer data)
{
	g_ptr_array_set_size(((const Collect *)data)->results, 0);
}

gboolean rdmad_netlink_ask(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkParse parse,
			   GPtrArray *results, GError **error)
{
	Collect collect = { parse, results };

	return rdmad_netlink_ask_each(nl, request, collect_each, collect_restart, &collect, error);
}
