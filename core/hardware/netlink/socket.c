/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/socket.h"

#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdmad/error.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel answers at once, but may wait for a lock that a driver's firmware command holds. */
#define ANSWER_SECONDS 5
#define DUMP_TRIES     5
#define RESULTS_MAX    65536u

struct RdmadNetlink {
	struct nl_sock *sock;
	int protocol;
	/* The rest of an answer may still come: a fresh socket for the next question. */
	gboolean stale;
	/* The answer under way. */
	RdmadNetlinkEach each;
	gpointer data;
	gboolean done;
	int errnum; /* what the kernel answered, or why it did not; 0: all is well */
	char *text; /* its explanation, or NULL */
	gboolean too_long;
};

static int answer_valid(struct nl_msg *msg, void *arg)
{
	RdmadNetlink *nl = arg;

	if (nl->each(nlmsg_hdr(msg), nl->data))
		return NL_OK;
	nl->too_long = TRUE;
	return NL_STOP;
}

static int answer_ack(struct nl_msg *msg, void *arg)
{
	RdmadNetlink *nl = arg;

	nl->done = TRUE;
	return NL_STOP;
}

/* A dump that failed half-way reports it in its last message. */
static int answer_finished(struct nl_msg *msg, void *arg)
{
	RdmadNetlink *nl = arg;
	const struct nlmsghdr *hdr = nlmsg_hdr(msg);

	nl->done = TRUE;
	if (nlmsg_datalen(hdr) >= (int)sizeof(int))
		nl->errnum = -*(const int *)nlmsg_data(hdr);
	return NL_STOP;
}

/* Documentation/userspace-api/netlink/intro.rst, "Ext ACK". */
static char *error_text(const struct nlmsgerr *err)
{
	const struct nlmsghdr *hdr = (const void *)((const char *)err - NLMSG_HDRLEN);
	int skip = sizeof(*err);
	const struct nlattr *text;

	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += nlmsg_datalen(&err->msg);
	text = nlmsg_find_attr((struct nlmsghdr *)hdr, skip, NLMSGERR_ATTR_MSG);
	return text ? g_strndup(nla_data(text), nla_len(text)) : NULL;
}

static int answer_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	RdmadNetlink *nl = arg;

	nl->done = TRUE;
	nl->errnum = -err->error;
	g_free(nl->text);
	nl->text = error_text(err);
	return NL_STOP;
}

/* `adopted`: a socket that is connected; -1: a new one. */
static gboolean socket_connect(RdmadNetlink *nl, int adopted, GError **error)
{
	const struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
	const int on = 1;
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
	/* Kernels before 4.12 have no explanations: not worth an error. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		return rdmad_error_errno(error, errno, "cannot limit the wait on netlink");
	return TRUE;
}

static gboolean socket_open(RdmadNetlink *nl, int adopted, GError **error)
{
	nl->sock = nl_socket_alloc();
	if (!nl->sock)
		g_error("out of memory");
	nl_socket_modify_cb(nl->sock, NL_CB_VALID, NL_CB_CUSTOM, answer_valid, nl);
	nl_socket_modify_cb(nl->sock, NL_CB_ACK, NL_CB_CUSTOM, answer_ack, nl);
	nl_socket_modify_cb(nl->sock, NL_CB_FINISH, NL_CB_CUSTOM, answer_finished, nl);
	nl_socket_modify_err_cb(nl->sock, NL_CB_CUSTOM, answer_error, nl);
	return socket_connect(nl, adopted, error);
}

RdmadNetlink *rdmad_netlink_open(int protocol, GError **error)
{
	g_autoptr(RdmadNetlink) nl = g_new0(RdmadNetlink, 1);

	nl->protocol = protocol;
	if (!socket_open(nl, -1, error))
		return NULL;
	return g_steal_pointer(&nl);
}

RdmadNetlink *rdmad_netlink_adopt(int protocol, int socket, GError **error)
{
	g_autoptr(RdmadNetlink) nl = g_new0(RdmadNetlink, 1);

	nl->protocol = protocol;
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
	g_free(nl->text);
	g_free(nl);
}

/* Whether what ended the answer was the kernel's own word; otherwise there may be more of it.  (libnl's
 * status is no measure: it is negative as well when the word was an error.) */
static gboolean answer_is_whole(const RdmadNetlink *nl)
{
	return nl->done && !nl->too_long;
}

/* libnl's status of the last read. */
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
		return "more entries in one answer than are taken";
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

/* The state of the last request must not leak into the next, even if that is never sent. */
static void answer_forget(RdmadNetlink *nl)
{
	nl->done = nl->too_long = FALSE;
	nl->errnum = 0;
	g_clear_pointer(&nl->text, g_free);
}

static int answer_read(RdmadNetlink *nl)
{
	int status = 0;

	while (!nl->done && !nl->too_long && status >= 0)
		status = nl_recvmsgs_default(nl->sock);
	return status;
}

static gboolean socket_refresh(RdmadNetlink *nl, GError **error)
{
	if (!nl->stale)
		return TRUE;
	/* libnl's as well: it would go on counting where the old one stopped. */
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
		/* Each try gets a sequence number of its own. */
		nlmsg_hdr(request)->nlmsg_seq = NL_AUTO_SEQ;
		status = nl_send_auto(nl->sock, request);
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
