/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match of an eRDMA device with its interface
 *
 * The RDMA device is a PCI function separate from the virtio interface that it serves.  Its node
 * GUID is the EUI-64 of the interface's MAC address with both the mainline driver and the
 * out-of-tree one; in compatible mode, and with rdma_rxe, the GID table names the interface too.
 */
#pragma once

#include <rdmad/address.h>
#include <rdmad/device.h>

#include "nic/view.h"

typedef struct {
	char *id, *device; /* RdmadDevice */
	char *pci;	   /* of the RDMA device; may be NULL */
	RdmadMac mac;
	int ifindex;   /* 0: no interface, for the reason in `problem` */
	char *netdev;  /* NULL if ifindex is 0 */
	char *problem; /* NULL: an interface was found */
} ErdmaMatch;

void erdma_match_free(gpointer match);

/* Returns whether driver, PCI ID or name ("erdma...") identify an eRDMA device. */
gboolean erdma_is_device(const RdmadDevice *dev);
/* Stores the MAC address by which a link is matched.  Returns FALSE if it has none, or is above
 * another link. */
gboolean erdma_link_mac(const RdmadLink *link, RdmadMac *mac);
/* Never returns NULL. */
ErdmaMatch *erdma_match(const RdmadDevice *dev, const ErdmaView *view);
