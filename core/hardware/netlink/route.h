/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink: link and address messages
 *
 * The parsers take any bytes that a well-formed nlmsghdr covers, and return NULL for messages of
 * another type or without sense.  Source: include/uapi/linux/if_link.h, if_addr.h, rtnetlink.h.
 */
#pragma once

#include <rdmad/network.h>

#include "hardware/netlink/socket.h"

struct nlattr;

/* The prefix is that of one host; family 0 when it is absent or of a wrong size. */
RdmadIp rdmad_route_get_ip(int family, const struct nlattr *attr);
/* 0 when it is absent or too short. */
guint rdmad_route_get_u32(const struct nlattr *attr);

/* Without virtual functions; rdmad_link_free(). */
RdmadLink *rdmad_route_parse_link(const struct nlmsghdr *msg);
/* g_free() */
RdmadAddress *rdmad_route_parse_address(const struct nlmsghdr *msg);

/* A notification: the interface that it is about, with `link` where that changed itself, not its
 * addresses.  FALSE: about something else, or an interface that has left. */
gboolean rdmad_route_parse_event(const char *message, gsize size, int *ifindex, RdmadLink **link);

/* Of RdmadLink, and of RdmadAddress. */
GPtrArray *rdmad_route_get_links(RdmadNetlink *nl, GError **error);
GPtrArray *rdmad_route_get_addresses(RdmadNetlink *nl, GError **error);
/* The same of one interface, by its index, or by its name where that is 0; none if it has left. */
GPtrArray *rdmad_route_get_link(RdmadNetlink *nl, int ifindex, const char *name, GError **error);
GPtrArray *rdmad_route_get_addresses_of(RdmadNetlink *nl, int ifindex, GError **error);
