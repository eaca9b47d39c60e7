/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instance metadata service of a cloud: which elastic NIC has which address
 *
 * NICs are in the network of the primary one, as usual, except the first.  Replaces rdmad/fetch.h,
 * below which HTTP is not in this world.
 *
 * Source: the paths of modules/erdma/nic/metadata.h.
 */
#pragma once

#include <rdmad/network.h>

#include "decisions.h"

void metadata_begin(Decisions *decisions);
/* The service fails in several ways. */
void metadata_set_failing(gboolean fails);
/* Returns the address that the service says of a NIC. */
RdmadIp metadata_address(guint nic);
