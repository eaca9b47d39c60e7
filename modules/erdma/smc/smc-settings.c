/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/smc-settings.h"

#include <rdmad/address.h>
#include <rdmad/config.h>
#include <rdmad/error.h>
#include <rdmad/smc.h>

static const char *const modes[] = { "off", "prefer", "require", NULL };

static gboolean eid_check(const char *text, GError **error)
{
	return !*text || rdmad_smc_eid_check(text, error);
}

static gboolean interface_check(const char *text, GError **error)
{
	if (!*text || rdmad_interface_name_is_valid(text))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" is not an interface name",
		    text);
	return FALSE;
}

static const RdmadConfigField fields[] = {
	RDMAD_CONFIG_ENUM_FIELD("mode", ErdmaSmcSettings, mode, modes),
	{ .key = "eid",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ErdmaSmcSettings, eid),
	  .max = RDMAD_SMC_EID_MAX,
	  .check = eid_check },
	{ .key = "interface",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ErdmaSmcSettings, interface),
	  .max = 15,
	  .check = interface_check },
	RDMAD_CONFIG_BOOL_FIELD("tcp2smc", ErdmaSmcSettings, tcp2smc),
	RDMAD_CONFIG_BOOL_FIELD("disable_ipv6", ErdmaSmcSettings, disable_ipv6),
	RDMAD_CONFIG_DURATION_FIELD("survey", ErdmaSmcSettings, survey_ms, 1000, 3600000),
	RDMAD_CONFIG_FIELDS_END,
};

void erdma_smc_settings_free(ErdmaSmcSettings *settings)
{
	if (!settings)
		return;
	g_free(settings->eid);
	g_free(settings->interface);
	g_free(settings);
}

ErdmaSmcSettings *erdma_smc_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(ErdmaSmcSettings) settings = g_new0(ErdmaSmcSettings, 1);

	settings->mode = ERDMA_SMC_PREFER;
	settings->eid = g_strdup("RDMAD");
	settings->interface = g_strdup("");
	settings->tcp2smc = TRUE;
	settings->survey_ms = 15000;
	return rdmad_config_parse(config, fields, settings, error) ? g_steal_pointer(&settings)
								   : NULL;
}
