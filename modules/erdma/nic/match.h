/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match of an eRDMA device with its interface
 *
 * The RDMA device is a PCI function of its own beside the virtio interface that it serves.  Its node GUID is
 * the EUI-64 of the interface's MAC in both driver families, erdma of the mainline kernel and the
 * out-of-tree one; the compatible mode and rdma_rxe also name the interface in the GID table.
 */
#pragma once

#include <rdmad/address.h>
#include <rdmad/device.h>

#include "nic/view.h"

typedef struct {
	char *id, *device; /* RdmadDevice */
	char *pci;	   /* of the RDMA device; may be NULL */
	RdmadMac mac;
	int ifindex;   /* 0: there is no interface, for the reason in `problem` */
	char *netdev;  /* NULL with ifindex 0 */
	char *problem; /* NULL: there is an interface */
} ErdmaMatch;

void erdma_match_free(gpointer match);

/* By driver, PCI ID, or a name that begins with "erdma". */
gboolean erdma_is_device(const RdmadDevice *dev);
/* Never NULL. */
ErdmaMatch *erdma_match(const RdmadDevice *dev, const ErdmaView *view);
