/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparations: what modules have to do before the first process of a container
 *
 * A module that writes into allocation directories adds a preparer.  The module that kubelet asks
 * (PreStartContainer) begins a preparation of the container's allocation, and lets the container start
 * when every preparer has finished its part, or when its own patience ends.
 */
#pragma once

#include <rdmad/types.h>

/* Called for each preparation; the preparer calls rdmad_preparation_finish() once, then or later. */
typedef void (*RdmadPrepareFunc)(const RdmadAllocation *allocation, RdmadPreparation *preparation,
				 gpointer data);

RDMAD_API RdmadPreparer *rdmad_preparations_add(RdmadPreparations *preparations, RdmadModule *owner,
						RdmadPrepareFunc prepare,
						gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* After it has finished what it was asked for.  NULL is fine. */
RDMAD_API void rdmad_preparer_free(RdmadPreparer *preparer);

/* One part is done: `preparation` is no longer the preparer's. */
RDMAD_API void rdmad_preparation_finish(RdmadPreparation *preparation);

/* Whether there is a preparer. */
RDMAD_API gboolean rdmad_preparations_wanted(const RdmadPreparations *preparations);
/* Calls `done` once from the top of the loop; the preparation is gone before it. */
RDMAD_API RdmadPreparation *rdmad_preparations_begin(RdmadPreparations *preparations,
						     RdmadModule *owner,
						     const RdmadAllocation *allocation,
						     void (*done)(gpointer data),
						     gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* `done` will not be called.  NULL is fine. */
RDMAD_API void rdmad_preparation_cancel(RdmadPreparation *preparation);
