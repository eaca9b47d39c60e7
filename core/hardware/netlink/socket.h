/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking netlink socket for requests, with complete responses and the kernel's error
 * messages */
#pragma once

#include <linux/netlink.h>
#include <rdmad/types.h>

struct nl_msg;

typedef struct RdmadNetlink RdmadNetlink;

/* Parses `msg` into `results`; malformed messages are skipped. */
typedef void (*RdmadNetlinkParse)(const struct nlmsghdr *msg, GPtrArray *results);

/* Returns FALSE to end the response: a limit is reached. */
typedef gboolean (*RdmadNetlinkEach)(const struct nlmsghdr *msg, gpointer data);

/* `protocol` is NETLINK_RDMA, NETLINK_ROUTE or NETLINK_GENERIC. */
RdmadNetlink *rdmad_netlink_open(int protocol, GError **error);
/* Takes over an open socket; closes it on failure. */
RdmadNetlink *rdmad_netlink_adopt(int protocol, int socket, GError **error);
int rdmad_netlink_fd(const RdmadNetlink *nl);
void rdmad_netlink_close(RdmadNetlink *nl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNetlink, rdmad_netlink_close)

/*
 * Sends `request` (taken over) and waits for the end of the response.  A dump that the kernel flags
 * as interrupted is repeated with empty `results`.  RDMAD_ERROR_NOT_FOUND: no such device;
 * RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_LIMIT: the response is too long; RDMAD_ERROR_UNAVAILABLE: every
 * attempt was interrupted; RDMAD_ERROR_FAILED.
 */
gboolean rdmad_netlink_ask(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkParse parse,
			   GPtrArray *results, GError **error);
/* The same without storing the response: passes each message to `each`, and calls `restart`
 * before each attempt. */
gboolean rdmad_netlink_ask_each(RdmadNetlink *nl, struct nl_msg *request, RdmadNetlinkEach each,
				void (*restart)(gpointer data), gpointer data, GError **error);
/* Returns why the last request failed: the kernel's errno, or ETIMEDOUT, E2BIG, EAGAIN, ENOBUFS,
 * EIO; 0 if it succeeded. */
int rdmad_netlink_errnum(const RdmadNetlink *nl);
/* Returns TRUE if the next request will open another socket, in the network namespace of the
 * calling thread. */
gboolean rdmad_netlink_stale(const RdmadNetlink *nl);
