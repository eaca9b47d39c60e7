/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod was allocated, and what all attachments use. */
#pragma once

#include "choice.h"
#include "cni.h"

/* Of CniSlot; valid until the turn of the loop ends. */
GArray *cni_slots_of(Cni *cni, const CniRequest *request);
/* Chooses; the devices of the choices are referenced by `devices` (of RdmadDevice), and their slots are
 * valid until the turn of the loop ends.  Errors as those of cni_choose(). */
GPtrArray *cni_slots_choose(Cni *cni, const CniRequest *request, const GArray *slots,
			    const GPtrArray *entries, GPtrArray *devices, GError **error);
