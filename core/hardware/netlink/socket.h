/* SPDX-License-Identifier: Apache-2.0 */
/* One blocking netlink socket: questions, whole answers, the kernel's own words on failure. */
#pragma once

#include <linux/netlink.h>
#include <rdmad/types.h>

struct nl_msg;

typedef struct RdmadNetlink RdmadNetlink;

/* Parses `msg` into `results`; malformed messages are left out. */
typedef void (*RdmadNetlinkParse)(const struct nlmsghdr *msg, GPtrArray *results);

/* FALSE: that is more than is taken. */
typedef gboolean (*RdmadNetlinkEach)(const struct nlmsghdr *msg, gpointer data);

/* `protocol`: NETLINK_RDMA, NETLINK_ROUTE, NETLINK_GENERIC. */
RdmadNetlink *rdmad_netlink_open(int protocol, GError **error);
/* Takes over a socket that is open already, and closes it on failure. */
RdmadNetlink *rdmad_netlink_adopt(int protocol, int socket, GError **error);
int rdmad_netlink_fd(const RdmadNetlink *nl);
void rdmad_netlink_close(RdmadNetlink *nl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNetlink, rdmad_netlink_close)

/*
 * Sends `request` (taken over) and waits for the end of the answer.  A dump that the kernel flags
 * as interrupted is repeated, with `results` emptied first. RDMAD_ERROR_NOT_FOUND: no such device;
 * RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_LIMIT: too long an answer; RDMAD_ERROR_UNAVAILABLE: disturbed
 * again and again; RDMAD_ERROR_FAILED.
 */
gboolean rdmad_netlink_ask(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkParse parse,
			   GPtrArray *results, GError **error);
/* The same for answers that are too long to be kept: each message is given to `each`, and `restart`
 * is called before each try. */
gboolean rdmad_netlink_ask_each(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkEach each,
				void (*restart)(gpointer data), gpointer data, GError **error);
/* Why the last question failed: the kernel's errno, or ETIMEDOUT, E2BIG, EAGAIN, ENOBUFS, EIO; 0: it did
 * not. */
int rdmad_netlink_errnum(const RdmadNetlink *nl);
/* TRUE: the next request will open another socket, in the network namespace of the calling
 * thread. */
gboolean rdmad_netlink_stale(const RdmadNetlink *nl);
