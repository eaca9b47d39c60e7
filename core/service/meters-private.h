/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/meters.h>

RdmadMeters *rdmad_meters_new(void);
/* With the families that are left. */
void rdmad_meters_free(RdmadMeters *meters);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadMeters, rdmad_meters_free)
/* Frees the owner's families, which are meant to go so. */
void rdmad_meters_reap(RdmadMeters *meters, const RdmadModule *owner);
