/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ethtool netlink: pause and FEC statistics
 *
 * The parsers take any bytes that a well-formed nlmsghdr covers.
 * Source: Documentation/networking/ethtool-netlink.rst, net/ethtool/{pause,fec}.c.
 */
#pragma once

#include "hardware/netlink/socket.h"

typedef struct {
	const char *name; /* static: "tx_frames" */
	guint64 value;
} RdmadEthtoolCount;

/* Statistics of an interface's driver; those that it lacks are left out. */
typedef struct {
	RdmadEthtoolCount counts[3];
	guint n;
} RdmadEthtoolCounts;

void rdmad_ethtool_parse_pause(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts);
void rdmad_ethtool_parse_fec(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts);
/* The message type of generic netlink's family, from the answer to CTRL_CMD_GETFAMILY; else unchanged. */
void rdmad_ethtool_parse_family(const struct nlmsghdr *msg, guint16 *family);

/* 0: this kernel has none (before 5.6), or `error`.  `nl`: of NETLINK_GENERIC. */
guint16 rdmad_ethtool_get_family(RdmadNetlink *nl, GError **error);
/* The errno is rdmad_netlink_errnum()'s: EOPNOTSUPP where the driver has no such thing. */
gboolean rdmad_ethtool_get_pause(RdmadNetlink *nl, guint16 family, const char *netdev,
				 RdmadEthtoolCounts *counts, GError **error);
gboolean rdmad_ethtool_get_fec(RdmadNetlink *nl, guint16 family, const char *netdev,
			       RdmadEthtoolCounts *counts, GError **error);
