/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look: the network of a pod, read on a worker through one of its processes
 *
 * The process has either the host's network or the pod's own, which the reading shows.  While a pod
 * has no process, the look is repeated with back-off, for a minute and a half.
 */
#pragma once

#include <rdmad/module.h>

#include "network.h"

typedef struct NcclLook NcclLook;

/* Starts a look.  `ended` is called on the loop at the end of each look. */
NcclLook *nccl_look_new(RdmadModule *self, const char *pod_namespace, const char *pod_name,
			void (*ended)(gpointer data), gpointer data);
void nccl_look_free(NcclLook *look);
/* Looks again, because the network may have changed. */
void nccl_look_again(NcclLook *look);
gboolean nccl_look_is_running(const NcclLook *look);
/* Returns the last network read; NULL: none yet. */
const NcclNetwork *nccl_look_network(const NcclLook *look);
/* Returns why no network was read; NULL: one was read, or the result is open. */
const char *nccl_look_problem(const NcclLook *look);
