/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device environment: the variables by which programs made for the SR-IOV network device plugin
 * find their devices
 *
 *	PCIDEVICE_RDMA_HCA=0000:3b:00.0,0000:5e:00.0
 *	PCIDEVICE_RDMA_HCA_INFO={"0000:3b:00.0":{"generic":{..},"rdma":{..}},..}
 *
 * Names are of [A-Z0-9_] here: a shell cannot read others.
 */
#pragma once

#include "settings.h"

/* "PCIDEVICE_RDMA_HCA" for "rdma/hca". */
char *device_env_name(const char *resource);
/* Whether the variables of two resources would have one name. */
gboolean device_env_clash(const char *resource, const char *other);

/* `devices` of RdmadDevice. */
char *device_env_list(const GPtrArray *devices);
/* NULL when there are so many that no program could be started with it. */
char *device_env_info(const GPtrArray *devices, const ResourceSettings *settings);
