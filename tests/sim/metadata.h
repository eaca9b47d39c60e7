/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instance metadata service of a cloud: which elastic NIC has which address
 *
 * NICs are in the network of the primary one, as usual, except the first.
 *
 * Source: the paths of modules/erdma/nic/metadata.h.
 */
#pragma once

#include <rdmad/fetch.h>
#include <rdmad/network.h>

#include "decisions.h"

void metadata_begin(Decisions *decisions);
/* The service fails in several ways. */
void metadata_set_failing(gboolean fails);
/* Responds to a request, as rdmad_fetch() does. */
gboolean metadata_fetch(const RdmadFetchSpec *spec, const RdmadJob *job,
			RdmadFetchResponse *response, GError **error);
/* Returns the address that the service says of a NIC. */
RdmadIp metadata_address(guint nic);
