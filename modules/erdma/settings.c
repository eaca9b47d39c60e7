/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

/* The groups of the parts; each part parses its group. */
typedef struct {
	const RdmadConfigNode *driver, *nics, *smc;
} Groups;

static const RdmadConfigField FIELDS[] = {
	RDMAD_CONFIG_GROUP_FIELD("driver", Groups, driver),
	RDMAD_CONFIG_GROUP_FIELD("nics", Groups, nics),
	RDMAD_CONFIG_GROUP_FIELD("smc", Groups, smc),
	RDMAD_CONFIG_FIELDS_END,
};

ErdmaSettings *erdma_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(ErdmaSettings) settings = g_new0(ErdmaSettings, 1);
	Groups groups = { 0 };

	if (!rdmad_config_parse(config, FIELDS, &groups, error))
		return NULL;
	settings->driver = erdma_driver_settings_parse(groups.driver, error);
	settings->nics = settings->driver ? erdma_nic_settings_parse(groups.nics, error) : NULL;
	settings->smc = settings->nics ? erdma_smc_settings_parse(groups.smc, error) : NULL;
	if (!settings->smc)
		return NULL;
	return g_steal_pointer(&settings);
}

void erdma_settings_free(ErdmaSettings *settings)
{
	g_clear_pointer(&settings->driver, erdma_driver_settings_free);
	erdma_nic_settings_free(settings->nics);
	erdma_smc_settings_free(settings->smc);
	g_free(settings);
}
