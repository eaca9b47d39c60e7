/* SPDX-License-Identifier: Apache-2.0 */
/* "ens1f0#0-3,7": a pattern, and of what it matches only these virtual functions. */
#pragma once

#include <rdmad/device.h>
#include <rdmad/types.h>

typedef enum {
	RDMAD_SELECT_NAMES,
	RDMAD_SELECT_DRIVERS,
	RDMAD_SELECT_NETDEVS,
	RDMAD_SELECT_VENDORS,
	RDMAD_SELECT_DEVICES,
	RDMAD_SELECT_PCI_ADDRESSES,
	RDMAD_SELECT_GUIDS,
	RDMAD_SELECT_NUMA_NODES,
	RDMAD_SELECT_BONDS,
	RDMAD_SELECT_PF_NAMES,
	RDMAD_SELECT_ROOT_DEVICES,
	RDMAD_SELECT_ACPI_INDEXES,
	RDMAD_SELECT_AUX_TYPES,
	/* Of a port; one port must have them all. */
	RDMAD_SELECT_LINK_LAYERS,
	RDMAD_SELECT_PKEYS,
	RDMAD_SELECT_PORT_STATES,
	RDMAD_SELECT_N,
} RdmadSelectKey;
#define RDMAD_SELECT_OF_PORT RDMAD_SELECT_LINK_LAYERS /* the first of them */

/* "names" */
const char *rdmad_select_key_name(RdmadSelectKey key);
/* `pattern` without its "!"; RDMAD_ERROR_CONFIG. */
gboolean rdmad_select_key_check(RdmadSelectKey key, const char *pattern, GError **error);
/* What the device (or its port) has under the key, char * with g_free(); none when it is not known. */
GPtrArray *rdmad_select_key_values(RdmadSelectKey key, const RdmadDevice *dev,
				   const RdmadPort *port);
/* `pattern` without its "!". */
gboolean rdmad_select_key_matches(RdmadSelectKey key, const char *pattern, const RdmadDevice *dev,
				  const GPtrArray *values);
