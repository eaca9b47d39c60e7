/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ethtool netlink: pause and FEC statistics
 *
 * The parsers accept any bytes within a well-formed nlmsghdr.
 * Source: Documentation/networking/ethtool-netlink.rst, net/ethtool/{pause,fec}.c.
 */
#pragma once

#include "hardware/netlink/socket.h"

typedef struct {
	const char *name; /* static: "tx_frames" */
	guint64 value;
} RdmadEthtoolCount;

/* Statistics of an interface, without those that the driver lacks. */
typedef struct {
	RdmadEthtoolCount counts[3];
	guint n;
} RdmadEthtoolCounts;

void rdmad_ethtool_parse_pause(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts);
void rdmad_ethtool_parse_fec(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts);
/* Sets the message type of the generic netlink family from the response to CTRL_CMD_GETFAMILY.
 * Any other message leaves it unchanged. */
void rdmad_ethtool_parse_family(const struct nlmsghdr *msg, guint16 *family);

/* Returns 0 on error, also for a kernel without the family (before 5.6).  `nl` is of
 * NETLINK_GENERIC. */
guint16 rdmad_ethtool_get_family(RdmadNetlink *nl, GError **error);
/* rdmad_netlink_errnum() returns the errno: EOPNOTSUPP if the driver has no such statistics. */
gboolean rdmad_ethtool_get_pause(RdmadNetlink *nl, guint16 family, const char *netdev,
				 RdmadEthtoolCounts *counts, GError **error);
gboolean rdmad_ethtool_get_fec(RdmadNetlink *nl, guint16 family, const char *netdev,
			       RdmadEthtoolCounts *counts, GError **error);
