/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/address.h>

/* The RDMA device that RDMA_CM finds for an address of the network namespace of this thread: its
 * device name, g_free().  Blocks.  RDMAD_ERROR_FAILED. */
char *rdmad_verbs_bind(const RdmadIp *ip, GError **error);
