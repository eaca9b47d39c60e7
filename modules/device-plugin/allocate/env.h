/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device environment: the variables in which programs made for the SR-IOV network device plugin
 * find their devices
 *
 *	PCIDEVICE_RDMA_HCA=0000:3b:00.0,0000:5e:00.0
 *	PCIDEVICE_RDMA_HCA_INFO={"0000:3b:00.0":{"generic":{..},"rdma":{..}},..}
 *
 * Names consist of [A-Z0-9_], because a shell cannot read others.
 */
#pragma once

#include "settings.h"

/* Returns "PCIDEVICE_RDMA_HCA" for "rdma/hca". */
char *device_env_name(const char *resource);
/* Returns whether the variables of two resources would have the same name. */
gboolean device_env_clash(const char *resource, const char *other);

/* `devices` of RdmadDevice. */
char *device_env_list(const GPtrArray *devices);
/* Returns NULL if the value would be too long for the environment of a program. */
char *device_env_info(const GPtrArray *devices, const ResourceSettings *settings);
