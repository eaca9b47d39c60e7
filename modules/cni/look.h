/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the namespaces of host and pod, on a worker thread; the executor opens what shows the pod. */
#pragma once

#include "choice.h"
#include "cni.h"
#include "view.h"

typedef struct CniLook {
	CniView *host, *pod;
	gboolean rdma_exclusive;
	GArray *gid_capacities; /* of guint, for each choice; 0: not known, or it stays as it is */
} CniLook;

void cni_look_free(gpointer look);

typedef struct CniLooking CniLooking;

/* Called on the loop once; `look` is the callee's. */
typedef void (*CniLooked)(CniLook *look, const GError *error, gpointer data);

/* Looks for what `choices` are about; NULL: at the pod alone.  `netns` stays the caller's. */
CniLooking *cni_look_start(Cni *cni, int netns, const GPtrArray *choices, CniLooked done,
			   gpointer data, GError **error);
/* `done` is not called.  NULL is fine. */
void cni_look_cancel(CniLooking *looking);

/* The state that looks share: opened before the first, closed after the last. */
void cni_looks_open(Cni *cni);
void cni_looks_close(Cni *cni);
