/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink-socket.h"

#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdmad/error.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The kernel answers at once, but may wait for a lock that a driver's firmware command holds. */
#define ANSWER_SECONDS 5
#define DUMP_TRIES     5
#define RESULTS_MAX    65536u

struct RdmadNetlink {
	struct nl_sock *sock;
	/* The answer under way. */
	RdmadNetlinkParse parse;
	GPtrArray *results;
	gboolean done;
	int errnum; /* what the kernel answered, or 0 */
	char *text; /* its explanation, or NULL */
	gboolean too_long;
};

static int answer_valid(struct nl_msg *msg, void *arg)
{
	RdmadNetlink *nl = arg;

	if (nl->results->len >= RESULTS_MAX) {
		nl->too_long = TRUE;
		return NL_STOP;
	}
	nl->parse(nlmsg_hdr(msg), nl->results);
	return NL_OK;
}

static int answer_ack(struct nl_msg *msg, void *arg)
{
	RdmadNetlink *nl = arg;

	nl->done = TRUE;
	return NL_STOP;
}

/* A dump that failed half-way says so in its last message. */
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

static gboolean socket_connect(RdmadNetlink *nl, int protocol, GError **error)
{
	const struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
	const int on = 1;
	const int status = nl_connect(nl->sock, protocol);
	int fd;

	if (status < 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "cannot open a netlink socket for protocol %d: %s", protocol,
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

RdmadNetlink *rdmad_netlink_open(int protocol, GError **error)
{
	g_autoptr(RdmadNetlink) nl = g_new0(RdmadNetlink, 1);

	nl->sock = nl_socket_alloc();
	if (!nl->sock)
		g_error("out of memory");
	if (!socket_connect(nl, protocol, error))
		return NULL;
	nl_socket_modify_cb(nl->sock, NL_CB_VALID, NL_CB_CUSTOM, answer_valid, nl);
	nl_socket_modify_cb(nl->sock, NL_CB_ACK, NL_CB_CUSTOM, answer_ack, nl);
	nl_socket_modify_cb(nl->sock, NL_CB_FINISH, NL_CB_CUSTOM, answer_finished, nl);
	nl_socket_modify_err_cb(nl->sock, NL_CB_CUSTOM, answer_error, nl);
	return g_steal_pointer(&nl);
}

void rdmad_netlink_close(RdmadNetlink *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->sock);
	g_free(nl->text);
	g_free(nl);
}

/* libnl's status of the last read becomes one of ours; `done` with no error is the good end. */
static gboolean answer_check(const RdmadNetlink *nl, int status, GError **error)
{
	if (nl->too_long) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "netlink: more than %u entries in one answer", RESULTS_MAX);
		return FALSE;
	}
	if (nl->errnum > 0) {
		g_set_error(error, RDMAD_ERROR,
			    nl->errnum == ENODEV || nl->errnum == ENOENT ? RDMAD_ERROR_NOT_FOUND
									 : RDMAD_ERROR_FAILED,
			    "netlink: %s%s%s", g_strerror(nl->errnum), nl->text ? ": " : "",
			    nl->text ? nl->text : "");
		return FALSE;
	}
	if (status >= 0)
		return TRUE;
	g_set_error(error, RDMAD_ERROR,
		    status == -NLE_AGAIN ? RDMAD_ERROR_TIMEOUT : RDMAD_ERROR_FAILED, "netlink: %s",
		    status == -NLE_AGAIN ? "no answer from the kernel" : nl_geterror(status));
	return FALSE;
}

static int answer_read(RdmadNetlink *nl)
{
	int status = 0;

	nl->done = nl->too_long = FALSE;
	nl->errnum = 0;
	g_clear_pointer(&nl->text, g_free);
	g_ptr_array_set_size(nl->results, 0);
	while (!nl->done && !nl->too_long && status >= 0)
		status = nl_recvmsgs_default(nl->sock);
	return status;
}

gboolean rdmad_netlink_ask(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkParse parse,
			   GPtrArray *results, GError **error)
{
	int status = -NLE_DUMP_INTR;

	nl->parse = parse;
	nl->results = results;
	for (guint i = 0; i < DUMP_TRIES && status == -NLE_DUMP_INTR; i++) {
		/* Each try gets a sequence number of its own. */
		nlmsg_hdr(request)->nlmsg_seq = NL_AUTO_SEQ;
		status = nl_send_auto(nl->sock, request);
		if (status >= 0)
			status = answer_read(nl);
	}
	nlmsg_free(request);
	if (status == -NLE_DUMP_INTR) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "netlink: the list changed %d times while it was read", DUMP_TRIES);
		return FALSE;
	}
	return answer_check(nl, status, error);
}
