/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; nccl.c describes the options. */
#pragma once

#include <rdmad/config.h>

#include "policy.h"
#include "version.h"

typedef struct {
	NcclPolicy policy;
	NcclVersions versions;
	char *version_warning; /* NULL: no warning */
	gboolean host_network; /* containers use the host's namespace, without a look */
	GBytes *env_plugin;    /* libnccl-env.so, for each container; NULL: none */
} NcclSettings;

/*
 * Reads libnccl-env.so from an absolute path, to be copied to the directories of allocations.
 * RDMAD_ERROR_INVALID: the file is not a shared object, is larger than 1 MiB, or users other than
 * root and rdmad's can write it, which matters because containers run it; RDMAD_ERROR_FAILED.
 */
GBytes *nccl_env_plugin_load(const char *path, GError **error);

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
NcclSettings *nccl_settings_parse(const RdmadConfigNode *config, GError **error);
void nccl_settings_free(NcclSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclSettings, nccl_settings_free)
