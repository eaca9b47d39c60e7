/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this directory: the socket in a namespace, and message construction */
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/network.h>

#include "hardware/netlink/socket.h"

/* Opens a socket in the namespace of this thread.  `netns` is the same namespace, in which a stale
 * socket is opened again; 0: rdmad's namespace. */
RdmadNetwork *network_open_here(int netns, GError **error);
int network_socket(const RdmadNetwork *net);
/* Opens a sysctl of this thread's namespace for reading.  Returns -1 with RDMAD_ERROR_NOT_FOUND,
 * RDMAD_ERROR_INVALID (the name; NULL too) or RDMAD_ERROR_FAILED. */
int network_open_sysctl(const char *name, GError **error);

/* `header` is the header of the message family. */
struct nl_msg *network_request(int type, int flags, const void *header, gsize size);
#define NETWORK_REQUEST(type, flags, header) network_request(type, flags, &(header), sizeof(header))

/* Sends a request (taken over) and waits for the kernel's acknowledgement.  The error begins with
 * "cannot " and the text of `format`. */
gboolean network_change(RdmadNetwork *net, struct nl_msg *request, GError **error,
			const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Passes each message of the response to `each`, which adds to `results` (taken over).  Empties
 * `results` and asks again if the list changed meanwhile or did not fit into the socket.  Returns
 * `results`, or NULL after an error: RDMAD_ERROR_LIMIT if `each` returned FALSE or there are more
 * than 65536. */
GPtrArray *network_read(RdmadNetwork *net, struct nl_msg *request, RdmadNetlinkEach each,
			gpointer data, GPtrArray *results, GError **error);

/* Adds nothing if there is no address. */
void network_put_ip(struct nl_msg *msg, int attribute, const RdmadIp *ip);
/* Fails with RDMAD_ERROR_INVALID if `mac` is not a hardware address. */
gboolean network_put_mac(struct nl_msg *msg, int attribute, const char *mac, GError **error);
/* Returns FALSE if the text is not 1 to 32 bytes, each of two digits. */
gboolean network_parse_mac(const char *mac, guint8 bytes[32], guint *size);

/* Fills `vfs` of the link from IFLA_VFINFO_LIST.  `list` NULL: the link has none. */
void network_parse_vfs(const struct nlattr *list, RdmadLink *link);

/* Exported for the tests and the fuzzer: each parses one message. */
RdmadLink *network_parse_link(const struct nlmsghdr *msg);
RdmadRoute *network_parse_route(const struct nlmsghdr *msg);
RdmadRule *network_parse_rule(const struct nlmsghdr *msg);
