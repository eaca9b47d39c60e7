/* SPDX-License-Identifier: Apache-2.0 */
/* The group `smc` of the configuration, described in erdma.c. */
#pragma once

#include <rdmad/types.h>

typedef enum {
	ERDMA_SMC_OFF,
	ERDMA_SMC_PREFER,
	ERDMA_SMC_REQUIRE,
} ErdmaSmcMode;

typedef struct {
	int mode;	 /* ErdmaSmcMode */
	char *eid;	 /* "": none */
	char *interface; /* of pods; "": that of the default route */
	gboolean tcp2smc, disable_ipv6;
	guint survey_ms;
} ErdmaSmcSettings;

/* RDMAD_ERROR_CONFIG. */
ErdmaSmcSettings *erdma_smc_settings_parse(const RdmadConfigNode *config, GError **error);
/* `settings` may be NULL. */
void erdma_smc_settings_free(ErdmaSmcSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSmcSettings, erdma_smc_settings_free)
