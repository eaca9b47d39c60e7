/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selector: which devices a resource is made of
 *
 * Each key is a list of patterns with `*` and `?`; "!x" excludes what x matches.  A device is taken
 * when every key that is given agrees: it matches one of the key's patterns (or the key has only
 * exclusions) and none of its exclusions.
 */
#pragma once

#include <rdmad/config.h>
#include <rdmad/device.h>

typedef struct {
	char **names;	      /* "mlx5_*" */
	char **drivers;	      /* "mlx5_core" */
	char **netdevs;	      /* any interface of the device */
	char **vendors;	      /* "15b3" */
	char **devices;	      /* "1021" */
	char **pci_addresses; /* "0000:3b:*" */
	char **link_layers;   /* "ethernet", "infiniband"; also which ports count for its health */
} RdmadSelector;

/* `out` is zeroed or cleared. */
gboolean rdmad_selector_parse(const RdmadConfigNode *node, RdmadSelector *out, GError **error);
void rdmad_selector_clear(RdmadSelector *selector);

/* The key that refuses the device, or NULL: it is selected. */
const char *rdmad_selector_refusal(const RdmadSelector *selector, const RdmadDevice *dev);
gboolean rdmad_selector_takes_port(const RdmadSelector *selector, const RdmadPort *port);
