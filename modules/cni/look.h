/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the namespaces of host and pod, on a worker thread. */
#pragma once

#include <rdmad/module.h>

#include "choice.h"
#include "view.h"

typedef struct {
	CniView *host, *pod;
	gboolean rdma_exclusive;
} CniLook;

void cni_look_free(gpointer look);

/* `result` is the callback's to keep; NULL with an error. */
typedef void (*CniLookDone)(CniLook *result, const GError *error, gpointer data);

/* What the choices are about; with none, the pod alone.  `netns` stays the caller's.  The job may be
 * cancelled. */
RdmadJob *cni_look_start(RdmadModule *self, int netns, const GPtrArray *choices, CniLookDone done,
			 gpointer data, GError **error);
