/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module: a group for each part; erdma.c describes the options. */
#pragma once

#include "driver/driver-settings.h"
#include "nic/nic-settings.h"
#include "smc/smc-settings.h"

typedef struct {
	ErdmaDriverSettings *driver;
	ErdmaNicSettings *nics;
	ErdmaSmcSettings *smc;
} ErdmaSettings;

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
ErdmaSettings *erdma_settings_parse(const RdmadConfigNode *config, GError **error);
void erdma_settings_free(ErdmaSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSettings, erdma_settings_free)
