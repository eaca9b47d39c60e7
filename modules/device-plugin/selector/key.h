/* SPDX-License-Identifier: Apache-2.0 */
/* "ens1f0#0-3,7": a pattern, and of what it matches only these virtual functions. */
#pragma once

#include <rdmad/device.h>
#include <rdmad/types.h>

typedef enum {
	SELECT_NAMES,
	SELECT_DRIVERS,
	SELECT_NETDEVS,
	SELECT_VENDORS,
	SELECT_DEVICES,
	SELECT_PCI_ADDRESSES,
	SELECT_GUIDS,
	SELECT_NUMA_NODES,
	SELECT_BONDS,
	SELECT_PF_NAMES,
	SELECT_ROOT_DEVICES,
	SELECT_ACPI_INDEXES,
	SELECT_AUX_TYPES,
	/* Of a port; one port must have them all. */
	SELECT_LINK_LAYERS,
	SELECT_PKEYS,
	SELECT_PORT_STATES,
	SELECT_N,
} SelectKey;
#define SELECT_OF_PORT SELECT_LINK_LAYERS /* the first of them */

/* "names" */
const char *select_key_name(SelectKey key);
/* `pattern` without its "!"; RDMAD_ERROR_CONFIG. */
gboolean select_key_check(SelectKey key, const char *pattern, GError **error);
/* Values of the device (or its port) for the key, char * with g_free(); none if unknown. */
GPtrArray *select_key_values(SelectKey key, const RdmadDevice *dev, const RdmadPort *port);
/* `pattern` without its "!". */
gboolean select_key_matches(SelectKey key, const char *pattern, const RdmadDevice *dev,
			    const GPtrArray *values);
