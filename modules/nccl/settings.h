/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; the options are described in nccl.c. */
#pragma once

#include <rdmad/config.h>

#include "policy.h"
#include "version.h"

typedef struct {
	NcclPolicy policy;
	NcclVersions versions;
	char *version_warning; /* NULL: the version is known */
	gboolean host_network; /* containers are in the host's namespace, without a look */
	GBytes *env_plugin;    /* libnccl-env.so, for each container; NULL: none */
} NcclSettings;

/*
 * libnccl-env.so at an absolute path, as it is put into the directories of allocations.  RDMAD_ERROR_INVALID: it
 * is not a shared object, larger than 1 MiB, or others than root and rdmad's own user may write it: containers
 * run what is in it; RDMAD_ERROR_FAILED.
 */
GBytes *nccl_env_plugin_load(const char *path, GError **error);

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
NcclSettings *nccl_settings_parse(const RdmadConfigNode *config, GError **error);
void nccl_settings_free(NcclSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclSettings, nccl_settings_free)
