/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <rdmad/error.h>
#include <rdmad/http.h>
#include <string.h>

#define LISTEN_MAX     16
#define DEVICES_MAX    256
#define TIMEOUT_MS     10000
#define TIMEOUT_MIN_MS 100
#define TIMEOUT_MAX_MS 285000 /* below HTTP_ANSWER_MS: what is there by then is still sent */
#define OPEN_FILES     512
#define OPEN_FILES_MAX 4096
#define POD_LOG_DIR    "/var/log/pods"

static const char *const NAMES[] = { "native", "compat", "both", NULL };

static gboolean file_check(const char *text, GError **error)
{
	if (text[0] == '/' || text[0] == '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" must be an absolute path, or empty for none", text);
	return FALSE;
}

static const RdmadConfigField FIELDS[] = {
	{ .key = "listen",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(MetricsSettings, listen),
	  .max = LISTEN_MAX,
	  .check = rdmad_http_address_check },
	{ .key = "web_config",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(MetricsSettings, web_config),
	  .check = file_check },
	RDMAD_CONFIG_ENUM_FIELD("names", MetricsSettings, names, NAMES),
	{ .key = "devices",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(MetricsSettings, devices),
	  .max = DEVICES_MAX,
	  .check = rdmad_config_pattern_check },
	RDMAD_CONFIG_BOOL_FIELD("counters", MetricsSettings, counters),
	RDMAD_CONFIG_BOOL_FIELD("netdevs", MetricsSettings, netdevs),
	RDMAD_CONFIG_BOOL_FIELD("users", MetricsSettings, users),
	RDMAD_CONFIG_BOOL_FIELD("gids", MetricsSettings, gids),
	RDMAD_CONFIG_DURATION_FIELD("timeout", MetricsSettings, timeout_ms, TIMEOUT_MIN_MS,
				    TIMEOUT_MAX_MS),
	{ .key = "pod_log_dir",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(MetricsSettings, pod_log_dir),
	  .check = file_check },
	RDMAD_CONFIG_INT_FIELD("open_files", MetricsSettings, open_files, 0, OPEN_FILES_MAX),
	RDMAD_CONFIG_BOOL_FIELD("page", MetricsSettings, page),
	RDMAD_CONFIG_FIELDS_END,
};

static MetricsSettings *settings_new(void)
{
	MetricsSettings *settings = g_new0(MetricsSettings, 1);

	settings->listen = g_new0(char *, 2);
	settings->listen[0] = g_strdup(METRICS_LISTEN);
	settings->counters = settings->netdevs = settings->users = TRUE;
	settings->gids = settings->page = TRUE;
	settings->timeout_ms = TIMEOUT_MS;
	settings->pod_log_dir = g_strdup(POD_LOG_DIR);
	settings->open_files = OPEN_FILES;
	return settings;
}

void metrics_settings_free(MetricsSettings *settings)
{
	g_strfreev(settings->listen);
	g_strfreev(settings->devices);
	g_free(settings->web_config);
	g_free(settings->pod_log_dir);
	g_free(settings);
}

static gboolean listen_check(const RdmadConfigNode *config, char **listen, GError **error)
{
	for (guint i = 0; listen && listen[i]; i++)
		for (guint j = 0; j < i; j++)
			if (g_str_equal(listen[i], listen[j]))
				return rdmad_config_error(config, "listen", error,
							  "\"%s\" is there twice", listen[i]);
	return TRUE;
}

MetricsSettings *metrics_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(MetricsSettings) settings = settings_new();

	if (!rdmad_config_parse(config, FIELDS, settings, error) ||
	    !listen_check(config, settings->listen, error))
		return NULL;
	if (settings->web_config && settings->web_config[0] == '\0')
		g_clear_pointer(&settings->web_config, g_free);
	return g_steal_pointer(&settings);
}

RdmadReadWhat metrics_settings_what(const MetricsSettings *settings)
{
	return (settings->counters ? RDMAD_READ_COUNTERS : 0) |
	       (settings->netdevs ? RDMAD_READ_NETDEVS : 0) |
	       (settings->users ? RDMAD_READ_USERS : 0);
}
