/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this directory: the socket in a namespace, and message construction */
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/network.h>

#include "hardware/netlink/socket.h"

/* Opens a socket in the namespace of this thread.  `netns` is the same namespace, needed if the
 * socket has to be reopened. */
RdmadNetwork *network_open_here(int netns, GError **error);
int network_socket(const RdmadNetwork *net);
/* Opens a sysctl of this thread's namespace for reading.  RDMAD_ERROR_NOT_FOUND,
 * RDMAD_ERROR_INVALID. */
int network_open_sysctl(const char *name, GError **error);

/* `header` is the header of the message family. */
struct nl_msg *network_request(int type, int flags, const void *header, gsize size);
#define NETWORK_REQUEST(type, flags, header) network_request(type, flags, &(header), sizeof(header))

/* Sends a request (taken over) and waits for the kernel's acknowledgement; the error begins with
 * the format. */
gboolean network_change(RdmadNetwork *net, struct nl_msg *request, GError **error,
			const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Passes each entry of the response to `each`, which fills `results` (taken over).  Returns
 * `results`. */
GPtrArray *network_read(RdmadNetwork *net, struct nl_msg *request, RdmadNetlinkEach each,
			gpointer data, GPtrArray *results, GError **error);

void network_put_ip(struct nl_msg *msg, int attribute, const RdmadIp *ip);
/* Fails with RDMAD_ERROR_INVALID if `mac` is not a hardware address. */
gboolean network_put_mac(struct nl_msg *msg, int attribute, const char *mac, GError **error);
gboolean network_parse_mac(const char *mac, guint8 bytes[32], guint *size);

/* Fills `vfs` from IFLA_VFINFO_LIST, which may be NULL. */
void network_parse_vfs(const struct nlattr *list, RdmadLink *link);

/* Exported for the tests and the fuzzer: each parses one message. */
RdmadLink *network_parse_link(const struct nlmsghdr *msg);
RdmadRoute *network_parse_route(const struct nlmsghdr *msg);
RdmadRule *network_parse_rule(const struct nlmsghdr *msg);
