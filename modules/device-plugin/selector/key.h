/* SPDX-License-Identifier: Apache-2.0 */
/* Selector keys and their patterns.  "ens1f0#0-3,7" matches only these virtual functions of
 * ens1f0. */
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
	/* Keys of ports; one port must match all of them. */
	SELECT_LINK_LAYERS,
	SELECT_PKEYS,
	SELECT_PORT_STATES,
	SELECT_N,
} SelectKey;
#define SELECT_OF_PORT SELECT_LINK_LAYERS /* the first key of ports */

/* "names" */
const char *select_key_name(SelectKey key);
/* Checks `pattern`, without its "!".  RDMAD_ERROR_CONFIG. */
gboolean select_key_check(SelectKey key, const char *pattern, GError **error);
/* Adds the names of the device's interfaces, also of those in pods, as select_key_values() does. */
void select_key_add_netdevs(GPtrArray *values, const RdmadDevice *dev);
/* Returns the values of the device (or its port) for the key, char * with g_free(); empty if
 * unknown. */
GPtrArray *select_key_values(SelectKey key, const RdmadDevice *dev, const RdmadPort *port);
/* `pattern` without its "!". */
gboolean select_key_matches(SelectKey key, const char *pattern, const RdmadDevice *dev,
			    const GPtrArray *values);
