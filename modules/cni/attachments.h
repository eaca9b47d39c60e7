/* SPDX-License-Identifier: Apache-2.0 */
/* `rdmad attachments`, and its route of the API. */
#pragma once

#include "cni.h"

extern const RdmadCommand cni_commands[];

gboolean cni_attachments_route(Cni *cni, GError **error);
void cni_attachments_unroute(Cni *cni);
