/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink: link and address messages
 *
 * The parsers take any bytes that a well-formed nlmsghdr covers; sockets are elsewhere.
 * Source: include/uapi/linux/if_link.h, if_addr.h, rtnetlink.h.
 */
#pragma once

#include "hardware/netlink/socket.h"

typedef struct {
	int ifindex;
	char *name;
	char *mac;	       /* NULL where it has none */
	int mtu;	       /* or RDMAD_UNKNOWN */
	int carrier;	       /* 1, 0, RDMAD_UNKNOWN (interface is down) */
	int carrier_changes;   /* or RDMAD_UNKNOWN */
	const char *operstate; /* as sysfs writes it, or NULL */
	int master;	       /* ifindex of the bond or bridge above, or 0 */
} RdmadRouteLink;

typedef struct {
	int ifindex;
	char *text; /* "192.0.2.7/24" */
} RdmadRouteAddress;

struct nlattr;

/* "00:11:22:33:44:55"; NULL: absent or empty. */
char *rdmad_route_format_mac(struct nlattr *attr);
/* As sysfs writes it, or NULL. */
const char *rdmad_route_operstate(struct nlattr *attr);

void rdmad_route_link_free(RdmadRouteLink *link);
void rdmad_route_address_free(RdmadRouteAddress *address);

void rdmad_route_parse_link(const struct nlmsghdr *msg, GPtrArray *links);
void rdmad_route_parse_address(const struct nlmsghdr *msg, GPtrArray *addresses);

GPtrArray *rdmad_route_get_links(RdmadNetlink *nl, GError **error);
GPtrArray *rdmad_route_get_addresses(RdmadNetlink *nl, GError **error);
