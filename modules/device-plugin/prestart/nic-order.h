/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NIC order: sorts the devices of a container by rdmad_nics_compare() and writes its nccl.conf
 */
#pragma once

#include <rdmad/device.h>

/* Sorts `devices`, of RdmadDevice; `gpus` of RdmadGpu. */
void nic_order_sort(GPtrArray *devices, const GPtrArray *gpus);
/* Returns the text of nccl.conf: NCCL_IB_HCA with exactly these devices, up to the limits of NCCL
 * of 32 devices and 1023 characters in a line. */
char *nic_order_nccl_conf(const GPtrArray *devices, const GPtrArray *gpus);
