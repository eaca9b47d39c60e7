/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/preparations.h>

RdmadPreparations *rdmad_preparations_new(RdmadLoop *loop);
void rdmad_preparations_free(RdmadPreparations *preparations);
/* Cancels the owner's preparations and removes its preparers.  Returns their number. */
guint rdmad_preparations_reap(RdmadPreparations *preparations, const RdmadModule *owner);
