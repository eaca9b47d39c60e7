/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files on RDMA netlink: construction of requests, parsing of messages */
#pragma once

#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include "hardware/netlink/socket.h"

/* Attributes that headers before Linux 6.11 lack */
#define RDMAD_NLDEV_ATTR_PARENT_NAME 100
#define RDMAD_NLDEV_ATTR_MAX	     101

typedef struct nlattr *RdmadNldevAttrs[RDMAD_NLDEV_ATTR_MAX];

/* Returns a request for rdmad_netlink_ask(), which takes it over.  `flags` is NLM_F_DUMP or 0. */
struct nl_msg *rdmad_nldev_request(int command, int flags);
/* Returns FALSE if the message is not a response to `command`, or an attribute has a wrong size. */
gboolean rdmad_nldev_parse(const struct nlmsghdr *msg, int command, RdmadNldevAttrs attrs);
