/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NIC order: the devices of a container in the order of rdmad_nics_compare(), and nccl.conf of them
 */
#pragma once

#include <rdmad/device.h>

/* Sorts `devices`, of RdmadDevice; `gpus` of RdmadGpu. */
void nic_order_sort(GPtrArray *devices, const GPtrArray *gpus);
/* The text of nccl.conf: NCCL_IB_HCA with exactly these devices.  NCCL reads no more than 32 of
 * them and 1023 characters of a line. */
char *nic_order_nccl_conf(const GPtrArray *devices, const GPtrArray *gpus);
