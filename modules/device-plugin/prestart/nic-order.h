/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NIC order: the devices of a container, those nearest to its accelerators first
 *
 * A device stands with the accelerator it is nearest to; devices that are equally near come in the
 * order of their accelerators, then of their names, with numbers as numbers.
 */
#pragma once

#include <rdmad/device.h>

/* Sorts `devices`, of RdmadDevice; `gpus` of RdmadGpu. */
void nic_order_sort(GPtrArray *devices, const GPtrArray *gpus);
/* The text of nccl.conf: NCCL_IB_HCA with exactly these devices.  NCCL reads no more than 32 of
 * them and 1023 characters of a line. */
char *nic_order_nccl_conf(const GPtrArray *devices, const GPtrArray *gpus);
