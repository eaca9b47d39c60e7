/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the network namespaces of host and pod on a worker thread.  The executor opens the pod's
 * descriptors. */
#pragma once

#include "choice.h"
#include "cni.h"
#include "view.h"

typedef struct CniLook {
	CniView *host, *pod;
	gboolean rdma_exclusive;
	GArray *gid_capacities; /* of guint, by choice; 0: unknown, or the mode adds no entries */
} CniLook;

void cni_look_free(gpointer look);

typedef struct CniLooking CniLooking;

/* Called once, on the loop.  The callee owns `look`. */
typedef void (*CniLooked)(CniLook *look, const GError *error, gpointer data);

/* Starts a look at the host's NICs of `choices` and at the pod; NULL: at the pod only.  The caller
 * keeps `netns`. */
CniLooking *cni_look_start(Cni *cni, int netns, const GPtrArray *choices, CniLooked done,
			   gpointer data, GError **error);
/* Cancels a look.  `done` is not called.  `looking` may be NULL. */
void cni_look_cancel(CniLooking *looking);

/* Open and close the state shared by all looks. */
void cni_looks_open(Cni *cni);
void cni_looks_close(Cni *cni);
