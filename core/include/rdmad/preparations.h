/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparations: what modules have to do before the first process of a container
 *
 * A module that writes into allocation directories adds a preparer.  The module that kubelet asks
 * (PreStartContainer) begins a preparation of the container's allocation, and lets the container start
 * when every preparer has finished its part, or when its own patience ends, unless one has required that
 * the container does not.
 */
#pragma once

#include <rdmad/types.h>

/* The container's pod, as the container runtime knows it. */
typedef struct {
	const char *pod_uid;
	gboolean is_host_network;
	const char *netns;	 /* path of its network namespace; NULL: unknown */
	GHashTable *annotations; /* text -> text */
} RdmadSandbox;

/* Called for each preparation; the preparer calls rdmad_preparation_finish() once, then or later. */
typedef void (*RdmadPrepareFunc)(const RdmadAllocation *allocation, RdmadPreparation *preparation,
				 gpointer data);

RDMAD_API RdmadPreparer *rdmad_preparations_add(RdmadPreparations *preparations, RdmadModule *owner,
						RdmadPrepareFunc prepare,
						gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Its preparations have a sandbox, where the runtime can be asked. */
RDMAD_API void rdmad_preparer_want_sandbox(RdmadPreparer *preparer);
/* After it has finished what it was asked for.  NULL is fine. */
RDMAD_API void rdmad_preparer_free(RdmadPreparer *preparer);

/* Valid while the preparer is called; NULL: it could not be learnt. */
RDMAD_API const RdmadSandbox *rdmad_preparation_sandbox(const RdmadPreparation *preparation);
/* From now on the container may not start, for the reason `why`; NULL: it may. */
RDMAD_API void rdmad_preparation_forbid(RdmadPreparation *preparation, const char *why);
/* One part is done: `preparation` is no longer the preparer's. */
RDMAD_API void rdmad_preparation_finish(RdmadPreparation *preparation);

/* Whether there is a preparer. */
RDMAD_API gboolean rdmad_preparations_wanted(const RdmadPreparations *preparations);
/* Whether one of them wants the sandbox. */
RDMAD_API gboolean rdmad_preparations_want_sandbox(const RdmadPreparations *preparations);
/* Why the container may not start; NULL: it may.  Borrowed. */
RDMAD_API const char *rdmad_preparation_refusal(const RdmadPreparation *preparation);
/* Calls `done` once from the top of the loop, with the refusal; the preparation is gone before it.
 * `sandbox` NULL: unknown. */
RDMAD_API RdmadPreparation *
rdmad_preparations_begin(RdmadPreparations *preparations, RdmadModule *owner,
			 const RdmadAllocation *allocation, const RdmadSandbox *sandbox,
			 void (*done)(const char *refusal, gpointer data),
			 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* `done` will not be called.  NULL is fine. */
RDMAD_API void rdmad_preparation_cancel(RdmadPreparation *preparation);
