/* SPDX-License-Identifier: Apache-2.0 */
/* A netlink socket of a network namespace, usable from any thread */
#include "network/network-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <stdlib.h>
#include <string.h>

#define READ_TRIES  3
#define RESULTS_MAX 65536u

struct RdmadNetwork {
	RdmadNetlink *nl;
	int netns;	     /* owned; -1: rdmad's namespace */
	gboolean is_adopted; /* the socket cannot be reopened */
	int errnum;	     /* when there is no socket */
};

/* ---- the socket ---- */

static gboolean socket_open(gpointer data, GError **error)
{
	RdmadNetwork *net = data;

	net->nl = rdmad_netlink_open(NETLINK_ROUTE, error);
	return net->nl != NULL;
}

static gboolean network_connect(RdmadNetwork *net, GError **error)
{
	return net->netns < 0 ? socket_open(net, error)
			      : rdmad_netns_call(net->netns, socket_open, net, error);
}

static RdmadNetwork *network_new(int netns, GError **error)
{
	g_autoptr(RdmadNetwork) net = g_new0(RdmadNetwork, 1);

	net->netns = netns ? fcntl(netns, F_DUPFD_CLOEXEC, 0) : -1;
	if (!netns || net->netns >= 0)
		return g_steal_pointer(&net);
	rdmad_error_errno(error, errno, "cannot keep the network namespace");
	return NULL;
}

RdmadNetwork *rdmad_network_open(int netns, GError **error)
{
	g_autoptr(RdmadNetwork) net = network_new(netns, error);

	return net && network_connect(net, error) ? g_steal_pointer(&net) : NULL;
}

RdmadNetwork *network_open_here(int netns, GError **error)
{
	g_autoptr(RdmadNetwork) net = network_new(netns, error);

	return net && socket_open(net, error) ? g_steal_pointer(&net) : NULL;
}

RdmadNetwork *rdmad_network_adopt(int socket, GError **error)
{
	g_autoptr(RdmadNetwork) net = network_new(0, error);

	net->is_adopted = TRUE;
	net->nl = rdmad_netlink_adopt(NETLINK_ROUTE, socket, error);
	return net->nl ? g_steal_pointer(&net) : NULL;
}

int network_socket(const RdmadNetwork *net)
{
	return rdmad_netlink_fd(net->nl);
}

void rdmad_network_close(RdmadNetwork *net)
{
	if (!net)
		return;
	rdmad_netlink_close(net->nl);
	rdmad_clear_fd(&net->netns);
	g_free(net);
}

/* Reopens a stale socket here: rdmad_netlink would reopen it in the namespace of this thread. */
static gboolean network_ready(RdmadNetwork *net, GError **error)
{
	if (net->nl && !rdmad_netlink_stale(net->nl))
		return TRUE;
	if (net->is_adopted) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
				    "an answer was lost, and there is no other socket");
		return FALSE;
	}
	g_clear_pointer(&net->nl, rdmad_netlink_close);
	net->errnum = EIO;
	return network_connect(net, error);
}

int rdmad_network_errnum(const RdmadNetwork *net)
{
	return net->nl ? rdmad_netlink_errnum(net->nl) : net->errnum;
}

struct nl_msg *network_request(int type, int flags, const void *header, gsize size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);

	if (!msg || nlmsg_append(msg, (void *)header, size, NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	return msg;
}

/* The netlink layer maps errors for device queries; links and routes need other codes. */
static void error_refine(const RdmadNetwork *net, GError *error)
{
	switch (rdmad_network_errnum(net)) {
	case ENODEV:
	case ENOENT:
	case ESRCH:
	case EADDRNOTAVAIL:
		error->code = RDMAD_ERROR_NOT_FOUND;
		break;
	case EEXIST:
	case EBUSY:
		error->code = RDMAD_ERROR_BUSY;
		break;
	default:
		break;
	}
}

static gboolean ignore_message(const struct nlmsghdr *msg, gpointer data)
{
	return TRUE;
}

static void ignore_restart(gpointer data)
{
}

gboolean network_change(RdmadNetwork *net, struct nl_msg *request, GError **error,
			const char *format, ...)
{
	g_autofree char *what = NULL;
	GError *why = NULL;
	va_list args;

	va_start(args, format);
	what = g_strdup_vprintf(format, args);
	va_end(args);
	if (!network_ready(net, &why))
		nlmsg_free(request);
	else if (rdmad_netlink_ask_each(net->nl, request, ignore_message, ignore_restart, NULL,
					&why))
		return TRUE;
	else
		error_refine(net, why);
	g_propagate_prefixed_error(error, why, "cannot %s: ", what);
	return FALSE;
}

/* ---- reading ---- */

typedef struct {
	RdmadNetlinkEach each;
	gpointer data;
	GPtrArray *results;
} Reading;

static gboolean read_each(const struct nlmsghdr *msg, gpointer data)
{
	const Reading *reading = data;

	return reading->results->len < RESULTS_MAX && reading->each(msg, reading->data);
}

static void read_restart(gpointer data)
{
	g_ptr_array_set_size(((const Reading *)data)->results, 0);
}

GPtrArray *network_read(RdmadNetwork *net, struct nl_msg *request, RdmadNetlinkEach each,
			gpointer data, GPtrArray *results, GError **error)
{
	Reading reading = { each, data, results };
	GError *why = NULL;
	gboolean ok = FALSE;

	/* A response that did not fit into the socket's buffer is requested again on another
	 * socket. */
	for (guint i = 0; i < READ_TRIES && !ok; i++) {
		g_clear_error(&why);
		if (!network_ready(net, &why))
			break;
		nlmsg_get(request);
		ok = rdmad_netlink_ask_each(net->nl, request, read_each, read_restart, &reading,
					    &why);
		if (!ok && rdmad_netlink_errnum(net->nl) != ENOBUFS)
			break;
	}
	nlmsg_free(request);
	if (ok)
		return results;
	error_refine(net, why);
	g_propagate_error(error, why);
	g_ptr_array_unref(results);
	return NULL;
}

/* ---- numbers of namespaces ---- */

static gboolean take_number(const struct nlmsghdr *msg, gpointer data)
{
	struct nlattr *attrs[NETNSA_MAX + 1];

	if (msg->nlmsg_type == RTM_NEWNSID &&
	    nlmsg_parse((struct nlmsghdr *)msg, sizeof(struct rtgenmsg), attrs, NETNSA_MAX, NULL) >=
		    0 &&
	    attrs[NETNSA_NSID] && nla_len(attrs[NETNSA_NSID]) == sizeof(gint32))
		*(int *)data = (int)nla_get_u32(attrs[NETNSA_NSID]);
	return TRUE;
}

gboolean rdmad_network_netns_number(RdmadNetwork *net, int netns, int *number, GError **error)
{
	const struct rtgenmsg header = { .rtgen_family = AF_UNSPEC };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_GETNSID, 0, header);
	g_autoptr(GPtrArray) unused = NULL;

	*number = -1;
	nla_put_u32(msg, NETNSA_FD, (guint32)netns);
	unused = network_read(net, msg, take_number, number, g_ptr_array_new(), error);
	return unused != NULL;
}

/* ---- addresses in messages ---- */

static guint ip_size(int family)
{
	return family == AF_INET6 ? 16 : 4;
}

char *rdmad_ip_format(const RdmadIp *ip)
{
	char text[INET6_ADDRSTRLEN] = "none";

	if (ip->family)
		inet_ntop(ip->family, ip->bytes, text, sizeof(text));
	return ip->family ? g_strdup_printf("%s/%u", text, ip->prefix) : g_strdup(text);
}

void network_put_ip(struct nl_msg *msg, int attribute, const RdmadIp *ip)
{
	if (ip->family)
		nla_put(msg, attribute, (int)ip_size(ip->family), ip->bytes);
}

/* "00:11:22:33:44:55", or the 20 bytes of IPoIB. */
gboolean network_parse_mac(const char *mac, guint8 bytes[32], guint *size)
{
	guint n = 0;

	for (const char *c = mac; n < 32; c += 3) {
		if (!g_ascii_isxdigit(c[0]) || !g_ascii_isxdigit(c[1]))
			return FALSE;
		bytes[n++] = (guint8)(g_ascii_xdigit_value(c[0]) << 4 | g_ascii_xdigit_value(c[1]));
		if (c[2] == '\0') {
			*size = n;
			return TRUE;
		}
		if (c[2] != ':')
			return FALSE;
	}
	return FALSE;
}

gboolean network_put_mac(struct nl_msg *msg, int attribute, const char *mac, GError **error)
{
	guint8 bytes[32];
	guint size;

	if (network_parse_mac(mac, bytes, &size)) {
		nla_put(msg, attribute, (int)size, bytes);
		return TRUE;
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "invalid hardware address \"%s\"",
		    mac);
	return FALSE;
}
