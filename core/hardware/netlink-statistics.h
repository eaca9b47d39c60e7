/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA netlink's statistics: all counters of one port that its driver has, in one exchange
 *
 * Source: drivers/infiniband/core/nldev.c, stat_get_doit_default_counter().
 */
#pragma once

#include "hardware/netlink-socket.h"

/* `name` is valid during the call; printable or not, unique or not: as the driver has it. */
typedef void (*RdmadNldevCounterFunc)(const char *name, guint64 value, gpointer data);

/* Calls `fn` for each counter of one answer; what is malformed is left out. */
void rdmad_nldev_parse_statistics(const struct nlmsghdr *msg, RdmadNldevCounterFunc fn,
				  gpointer data);
/* 0 or errno; the kernel says EINVAL for much: no such device, port, counters or command, or a driver
 * that failed. */
int rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port, RdmadNldevCounterFunc fn,
			       gpointer data);
