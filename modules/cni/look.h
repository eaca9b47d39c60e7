/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the namespaces of host and pod, on a worker thread. */
#pragma once

#include <rdmad/module.h>
#include <rdmad/work.h>

#include "choice.h"
#include "view.h"

typedef struct CniLook {
	CniView *host, *pod;
	gboolean rdma_exclusive;
	GArray *gid_capacities; /* of guint, for each choice; 0: not known, or it stays as it is */
} CniLook;

void cni_look_free(gpointer look);

gpointer cni_look_run(gpointer input, const RdmadJob *job, GError **error);
void cni_look_input_free(gpointer input);

/* The class of a caller: `done_` gets a CniLook, which it keeps. */
#define CNI_LOOK_CLASS(done_)                                                                      \
	{                                                                                          \
		.name = "cni-look", .run = cni_look_run, .done = (done_),                          \
		.free_input = cni_look_input_free, .free_result = cni_look_free                    \
	}

/* Looks for what `choices` are about; NULL: at the pod alone.  `netns` stays the caller's.  The job
 * may be cancelled. */
RdmadJob *cni_look_start(RdmadModule *self, int netns, const GPtrArray *choices,
			 const RdmadJobClass *klass, gpointer data, GError **error);
