/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this directory: the socket in a namespace, and the building of
 * messages. */
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/network.h>

#include "hardware/netlink/socket.h"

/* `header`: the family's own. */
struct nl_msg *network_request(int type, int flags, const void *header, gsize size);
#define NETWORK_REQUEST(type, flags, header) network_request(type, flags, &(header), sizeof(header))

/* Sends a request (taken over) and waits for the kernel's acknowledgement; the error begins with
 * the format. */
gboolean network_change(RdmadNetwork *net, struct nl_msg *request, GError **error,
			const char *format, ...) G_GNUC_PRINTF(4, 5);
/* The entries of one answer, as `each` takes them; `results` (taken over) is what it fills. */
GPtrArray *network_read(RdmadNetwork *net, struct nl_msg *request, RdmadNetlinkEach each,
			gpointer data, GPtrArray *results, GError **error);

void network_put_ip(struct nl_msg *msg, int attribute, const RdmadIp *ip);
/* The prefix is that of one host; family 0 when it is absent or of a wrong size. */
RdmadIp network_get_ip(int family, const struct nlattr *attr);
guint network_get_u32(const struct nlattr *attr);
/* RDMAD_ERROR_INVALID: no hardware address. */
gboolean network_put_mac(struct nl_msg *msg, int attribute, const char *mac, GError **error);
gboolean network_parse_mac(const char *mac, guint8 bytes[32], guint *size);

/* For the tests and the fuzzer: parses one message. */
RdmadLink *network_parse_link(const struct nlmsghdr *msg);
RdmadAddress *network_parse_address(const struct nlmsghdr *msg);
RdmadRoute *network_parse_route(const struct nlmsghdr *msg);
RdmadRule *network_parse_rule(const struct nlmsghdr *msg);
