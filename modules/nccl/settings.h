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
	gboolean host_network; /* an allocation without an attachment is in the host's namespace */
	GBytes *env_plugin;    /* libnccl-env.so, for each container; NULL: none */
} NcclSettings;

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
NcclSettings *nccl_settings_parse(const RdmadConfigNode *config, GError **error);
void nccl_settings_free(NcclSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclSettings, nccl_settings_free)
