/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparations: work of modules before the first process of a container
 *
 * A module that writes into allocation directories adds a preparer.  The module that serves
 * PreStartContainer begins a preparation of the container's allocation.  It lets the container
 * start when every preparer has finished its part, or at its own deadline, unless a preparer has
 * forbidden the start.
 */
#pragma once

#include <rdmad/types.h>

/* The container's pod, as the container runtime reports it. */
typedef struct {
	const char *pod_uid;
	gboolean is_host_network;
	const char *netns;	 /* path of its network namespace; NULL: unknown */
	GHashTable *annotations; /* name -> value */
} RdmadSandbox;

/* Called for each preparation; the preparer calls rdmad_preparation_finish() once, immediately or
 * later. */
typedef void (*RdmadPrepareFunc)(const RdmadAllocation *allocation, RdmadPreparation *preparation,
				 gpointer data);

RDMAD_API RdmadPreparer *rdmad_preparations_add(RdmadPreparations *preparations, RdmadModule *owner,
						RdmadPrepareFunc prepare,
						gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Requests a sandbox for its preparations, if the runtime can be queried. */
RDMAD_API void rdmad_preparer_want_sandbox(RdmadPreparer *preparer);
/* Call it after the preparer has finished all its parts.  Does nothing if `preparer` is NULL. */
RDMAD_API void rdmad_preparer_free(RdmadPreparer *preparer);

/* Returns the sandbox, valid while RdmadPrepareFunc runs, or NULL if it is unknown. */
RDMAD_API const RdmadSandbox *rdmad_preparation_sandbox(const RdmadPreparation *preparation);
/* Forbids the start of the container for the reason `why`, which is copied; NULL: permits it
 * again. */
RDMAD_API void rdmad_preparation_forbid(RdmadPreparation *preparation, const char *why);
/* Reports the end of a part.  The preparer must not use `preparation` afterwards. */
RDMAD_API void rdmad_preparation_finish(RdmadPreparation *preparation);

/* Returns whether there is a preparer. */
RDMAD_API gboolean rdmad_preparations_wanted(const RdmadPreparations *preparations);
/* Returns whether a preparer wants the sandbox. */
RDMAD_API gboolean rdmad_preparations_want_sandbox(const RdmadPreparations *preparations);
/* Returns why the container may not start, borrowed, or NULL if it may. */
RDMAD_API const char *rdmad_preparation_refusal(const RdmadPreparation *preparation);
/* Begins a preparation.  `done` is called once, from the top of the loop, with the refusal or NULL,
 * after the preparation was freed.  `sandbox` is valid during this call; NULL: unknown. */
RDMAD_API RdmadPreparation *
rdmad_preparations_begin(RdmadPreparations *preparations, RdmadModule *owner,
			 const RdmadAllocation *allocation, const RdmadSandbox *sandbox,
			 void (*done)(const char *refusal, gpointer data),
			 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Cancels the call of `done`.  Does nothing if `preparation` is NULL. */
RDMAD_API void rdmad_preparation_cancel(RdmadPreparation *preparation);
