/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA netlink's statistics: all counters of one port that its driver has, in one exchange
 *
 * Source: drivers/infiniband/core/nldev.c, stat_get_doit_default_counter().
 */
#pragma once

#include "hardware/netlink/socket.h"

/* `name` is valid during the call; printable or not, unique or not: as the driver has it. */
typedef void (*RdmadNldevCounterFunc)(const char *name, guint64 value, gpointer data);

/* Calls `fn` for each counter of one answer; malformed ones are left out. */
void rdmad_nldev_parse_statistics(const struct nlmsghdr *msg, RdmadNldevCounterFunc fn,
				  gpointer data);
/* 0 or errno; the kernel returns EINVAL for many errors: no such device, port, counters or command,
 * or a driver that failed. */
int rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port, RdmadNldevCounterFunc fn,
			       gpointer data);

typedef struct {
	guint index;
	char *name;
	char *firmware;			  /* NULL where the driver has none */
	char *node_guid, *sys_image_guid; /* as sysfs writes them */
	int node_type;			  /* RdmadNodeType, or RDMAD_UNKNOWN */
} RdmadNldevDevice;

typedef struct {
	guint number;
	int state, phys_state; /* or RDMAD_UNKNOWN */
	int lid, sm_lid;       /* or RDMAD_UNKNOWN: only InfiniBand has them */
	char *netdev;	       /* NULL: none, or in another network namespace */
} RdmadNldevPort;

typedef struct {
	guint64 driver_id; /* enum rdma_driver_id */
} RdmadNldevChardev;

void rdmad_nldev_device_free(RdmadNldevDevice *dev);
void rdmad_nldev_port_free(RdmadNldevPort *port);

/* Each appends at most one entry: RdmadNldevDevice, RdmadNldevPort, RdmadNldevChardev (g_free), and
 * the network namespace mode, "shared" or "exclusive" (a static string). */
void rdmad_nldev_parse_device(const struct nlmsghdr *msg, GPtrArray *devices);
void rdmad_nldev_parse_port(const struct nlmsghdr *msg, GPtrArray *ports);
void rdmad_nldev_parse_chardev(const struct nlmsghdr *msg, GPtrArray *chardevs);
void rdmad_nldev_parse_netns_mode(const struct nlmsghdr *msg, GPtrArray *modes);

GPtrArray *rdmad_nldev_get_devices(RdmadNetlink *nl, GError **error);
/* The one with that index; it has left: none. */
GPtrArray *rdmad_nldev_get_device(RdmadNetlink *nl, guint device, GError **error);
GPtrArray *rdmad_nldev_get_ports(RdmadNetlink *nl, guint device, GError **error);
/* The kernel's name for the driver of a device without a bus ("rxe"), or NULL. */
const char *rdmad_nldev_get_driver(RdmadNetlink *nl, guint device);
const char *rdmad_nldev_get_netns_mode(RdmadNetlink *nl, GError **error);
/* The request, and its sending: moves a device to the namespace of a descriptor. */
struct nl_msg *rdmad_nldev_netns_request(guint device, int netns);
gboolean rdmad_nldev_set_netns(RdmadNetlink *nl, guint device, int netns, GError **error);
