/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink: link and address messages
 *
 * The parsers accept any bytes within a well-formed nlmsghdr, and return NULL for other types and
 * invalid messages.  Source: include/uapi/linux/if_link.h, if_addr.h, rtnetlink.h.
 */
#pragma once

#include <rdmad/network.h>

#include "hardware/netlink/socket.h"

struct nlattr;

/* Returns an address with the prefix of a host; family 0 if it is absent or has a wrong size. */
RdmadIp rdmad_route_get_ip(int family, const struct nlattr *attr);
/* Returns 0 if the attribute is absent or too short. */
guint rdmad_route_get_u32(const struct nlattr *attr);

/* Parses a link without its virtual functions; rdmad_link_free(). */
RdmadLink *rdmad_route_parse_link(const struct nlmsghdr *msg);
/* g_free() */
RdmadAddress *rdmad_route_parse_address(const struct nlmsghdr *msg);

/* A notification about an interface. */
typedef struct {
	int ifindex;
	RdmadLink *link; /* NULL: only its addresses, or its port of a bridge, changed */
	gboolean removed;
} RdmadRouteEvent;

/* Returns FALSE for other notifications.  The caller frees `link`. */
gboolean rdmad_route_parse_event(const char *message, gsize size, RdmadRouteEvent *event);

/* Return arrays of RdmadLink and of RdmadAddress. */
GPtrArray *rdmad_route_get_links(RdmadNetlink *nl, GError **error);
GPtrArray *rdmad_route_get_addresses(RdmadNetlink *nl, GError **error);
/* Return the link and the addresses of one interface, by its index, or by its name if the index
 * is 0.  The array is empty if the interface was removed. */
GPtrArray *rdmad_route_get_link(RdmadNetlink *nl, int ifindex, const char *name, GError **error);
GPtrArray *rdmad_route_get_addresses_of(RdmadNetlink *nl, int ifindex, GError **error);
