/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA netlink (nldev): devices, ports, character devices, and the statistics of a port
 *
 * The parsers accept any bytes within a well-formed nlmsghdr.
 * Source: include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c.
 */
#pragma once

#include "hardware/netlink/socket.h"

/* `name` is valid during the call.  It is the driver's, and may be unprintable or duplicate. */
typedef void (*RdmadNldevCounterFunc)(const char *name, guint64 value, gpointer data);

/* Calls `fn` for each counter of a response; malformed ones are skipped. */
void rdmad_nldev_parse_statistics(const struct nlmsghdr *msg, RdmadNldevCounterFunc fn,
				  gpointer data);
/* Returns 0 or an errno.  The kernel returns EINVAL for many errors: no such device, port,
 * counters or command, or a failure of the driver. */
int rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port, RdmadNldevCounterFunc fn,
			       gpointer data);

typedef struct {
	guint index;
	char *name;
	char *firmware;			  /* NULL if the driver reports none */
	char *node_guid, *sys_image_guid; /* in the format of sysfs */
	int node_type;			  /* RdmadNodeType, or RDMAD_UNKNOWN */
	char *parent; /* name of the device that it is a sub-device of, or NULL */
} RdmadNldevDevice;

typedef struct {
	guint number;
	int state, phys_state; /* or RDMAD_UNKNOWN */
	int lid, sm_lid;       /* InfiniBand only, else RDMAD_UNKNOWN */
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
/* Returns the device with this index; an empty array if it was removed. */
GPtrArray *rdmad_nldev_get_device(RdmadNetlink *nl, guint device, GError **error);
GPtrArray *rdmad_nldev_get_ports(RdmadNetlink *nl, guint device, GError **error);
/* Returns the kernel's name for the driver of a device without a bus ("rxe"), or NULL. */
const char *rdmad_nldev_get_driver(RdmadNetlink *nl, guint device);
const char *rdmad_nldev_get_netns_mode(RdmadNetlink *nl, GError **error);
/* Make, and send, the request to move a device to the namespace `netns`, a descriptor. */
struct nl_msg *rdmad_nldev_netns_request(guint device, int netns);
gboolean rdmad_nldev_set_netns(RdmadNetlink *nl, guint device, int netns, GError **error);
