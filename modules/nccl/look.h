/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look: the network of a pod, read on a worker through one of its processes
 *
 * A pod on the host's network and one with its own are told apart by what is read.  A pod without a
 * process is looked at again with back-off, for a minute and a half.
 */
#pragma once

#include <rdmad/module.h>

#include "network.h"

typedef struct NcclLook NcclLook;

/* Begins.  `ended` is called at the end of each look, from the loop. */
NcclLook *nccl_look_new(RdmadModule *self, const char *pod_namespace, const char *pod_name,
			void (*ended)(gpointer data), gpointer data);
void nccl_look_free(NcclLook *look);
/* The network may have changed. */
void nccl_look_again(NcclLook *look);
gboolean nccl_look_is_under_way(const NcclLook *look);
/* The last network read; NULL: none yet. */
const NcclNetwork *nccl_look_network(const NcclLook *look);
/* Why nothing was found; NULL: something was, or it is still to be seen. */
const char *nccl_look_problem(const NcclLook *look);
