/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define SECOND_MS   1000
#define HOUR_MS	    (3600 * SECOND_MS)
#define NAME_MAX_   253u
#define LIST_MAX    64

static gboolean refuse(GError **error, const char *format, const char *text)
{
	g_autofree char *message = g_strdup_printf("\"%.64s\" %s", text, format);

	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, message);
	return FALSE;
}

/* The token is never sent without TLS. */
static gboolean server_check(const char *server, GError **error)
{
	const char *host = g_str_has_prefix(server, "https://") ? server + 8 : "";

	if (!*server || (*host && *host != '/' && !strpbrk(server, " \t\r\n@?#")))
		return TRUE;
	return refuse(error, "is not an https:// address without user and query", server);
}

static gboolean name_is_valid(const char *name, gsize max)
{
	const gsize length = strlen(name);

	for (gsize i = 0; i < length; i++)
		if (!g_ascii_islower(name[i]) && !g_ascii_isdigit(name[i]) &&
		    !(i && i + 1 < length && (name[i] == '-' || name[i] == '.')))
			return FALSE;
	return length > 0 && length <= max;
}

static gboolean node_check(const char *name, GError **error)
{
	return !*name || name_is_valid(name, NAME_MAX_) ||
	       refuse(error, "is not a node name", name);
}

/* Labels without a domain belong to users, those of these two domains to Kubernetes. */
static gboolean prefix_check(const char *prefix, GError **error)
{
	g_autofree char *domain = g_strndup(prefix, strlen(prefix) - (*prefix != 0));

	if (!g_str_has_suffix(prefix, "/") || !name_is_valid(domain, NAME_MAX_))
		return refuse(error, "is not a domain with a slash at the end", prefix);
	if (g_str_has_suffix(domain, "kubernetes.io") || g_str_has_suffix(domain, "k8s.io"))
		return refuse(error, "belongs to Kubernetes", prefix);
	return TRUE;
}

static gboolean path_check(const char *path, GError **error)
{
	return *path == '/' || refuse(error, "is not an absolute path", path);
}

#define CHECKED_FIELD(k, type_, member, check_)                                                    \
	{                                                                                          \
		.key = (k), .type = (type_), .offset = G_STRUCT_OFFSET(KubeSettings, member),      \
		.check = (check_)                                                                  \
	}
#define PATTERNS_FIELD(k, member)                                                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRINGS,                                          \
		.offset = G_STRUCT_OFFSET(KubeSettings, member), .max = LIST_MAX,                  \
		.check = rdmad_config_pattern_check                                                \
	}

static const RdmadConfigField fields[] = {
	CHECKED_FIELD("server", RDMAD_CONFIG_STRING, server, server_check),
	CHECKED_FIELD("token_file", RDMAD_CONFIG_STRING, token_file, path_check),
	CHECKED_FIELD("ca_file", RDMAD_CONFIG_STRING, ca_file, path_check),
	CHECKED_FIELD("node", RDMAD_CONFIG_STRING, node, node_check),
	RDMAD_CONFIG_DURATION_FIELD("connect_timeout", KubeSettings, connect_timeout_ms, 100,
				    60 * SECOND_MS),
	RDMAD_CONFIG_DURATION_FIELD("timeout", KubeSettings, timeout_ms, 100, 300 * SECOND_MS),
	RDMAD_CONFIG_DURATION_FIELD("watch_timeout", KubeSettings, watch_timeout_ms, SECOND_MS,
				    HOUR_MS),
	RDMAD_CONFIG_DURATION_FIELD("watch_quiet", KubeSettings, watch_quiet_ms, 100, HOUR_MS),
	RDMAD_CONFIG_DURATION_FIELD("retry", KubeSettings, retry_ms, 10, 60 * SECOND_MS),
	RDMAD_CONFIG_DURATION_FIELD("retry_max", KubeSettings, retry_max_ms, 10, HOUR_MS),
	PATTERNS_FIELD("labels", labels),
	RDMAD_CONFIG_BOOL_FIELD("publish", KubeSettings, publish),
	CHECKED_FIELD("prefix", RDMAD_CONFIG_STRING, prefix, prefix_check),
	PATTERNS_FIELD("rails", rails),
	RDMAD_CONFIG_DURATION_FIELD("publish_interval", KubeSettings, publish_interval_ms, 10,
				    HOUR_MS),
	RDMAD_CONFIG_BOOL_FIELD("events", KubeSettings, events),
	RDMAD_CONFIG_DURATION_FIELD("event_interval", KubeSettings, event_interval_ms, 10, HOUR_MS),
	RDMAD_CONFIG_FIELDS_END,
};

static KubeSettings *settings_new(void)
{
	KubeSettings *settings = g_new0(KubeSettings, 1);

	settings->server = g_strdup("");
	settings->token_file = g_strdup(ACCOUNT_DIR "/token");
	settings->ca_file = g_strdup(ACCOUNT_DIR "/ca.crt");
	settings->node = g_strdup("");
	settings->connect_timeout_ms = 5 * SECOND_MS;
	settings->timeout_ms = 30 * SECOND_MS;
	settings->watch_timeout_ms = 300 * SECOND_MS;
	settings->watch_quiet_ms = 120 * SECOND_MS;
	settings->retry_ms = 800;
	settings->retry_max_ms = 30 * SECOND_MS;
	settings->labels = g_strsplit("*", ",", -1);
	settings->publish = TRUE;
	settings->prefix = g_strdup("rdmad.io/");
	settings->rails = g_strsplit("*", ",", -1);
	settings->publish_interval_ms = 10 * SECOND_MS;
	settings->events = TRUE;
	settings->event_interval_ms = SECOND_MS;
	return settings;
}

/* Uses the variables that kubelet sets in each container. */
static gboolean server_find(KubeSettings *settings, const RdmadConfigNode *config, GError **error)
{
	const char *host = g_getenv("KUBERNETES_SERVICE_HOST");
	const char *port = g_getenv("KUBERNETES_SERVICE_PORT");
	const gboolean is_v6 = host && strchr(host, ':') && *host != '[';

	if (!*settings->server) {
		if (!host || !*host)
			return rdmad_config_error(config, "server", error,
						  "neither configured nor in the environment "
						  "(KUBERNETES_SERVICE_HOST)");
		g_free(settings->server);
		settings->server = g_strdup_printf("https://%s%s%s:%s", is_v6 ? "[" : "", host,
						   is_v6 ? "]" : "", port && *port ? port : "443");
		if (!server_check(settings->server, error)) {
			g_prefix_error(error, "KUBERNETES_SERVICE_HOST: ");
			return FALSE;
		}
	}
	while (g_str_has_suffix(settings->server, "/"))
		settings->server[strlen(settings->server) - 1] = '\0';
	return TRUE;
}

/* Falls back to the host's name, in lower case like kubelet's registration. */
static gboolean node_find(KubeSettings *settings, const RdmadConfigNode *config, GError **error)
{
	const char *name = g_getenv("NODE_NAME");
	char host[NAME_MAX_ + 1] = "";

	if (*settings->node)
		return TRUE;
	g_free(settings->node);
	if (name && *name)
		settings->node = g_strdup(name);
	else
		settings->node =
			g_ascii_strdown(gethostname(host, sizeof(host) - 1) == 0 ? host : "", -1);
	if (name_is_valid(settings->node, NAME_MAX_))
		return TRUE;
	return rdmad_config_error(config, "node", error,
				  "\"%.64s\" of the environment (NODE_NAME) is not a node name",
				  settings->node);
}

KubeSettings *kube_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(KubeSettings) settings = settings_new();

	if (!rdmad_config_parse(config, fields, settings, error) ||
	    !server_find(settings, config, error) || !node_find(settings, config, error))
		return NULL;
	settings->retry_max_ms = MAX(settings->retry_max_ms, settings->retry_ms);
	return g_steal_pointer(&settings);
}

void kube_settings_free(KubeSettings *settings)
{
	if (!settings)
		return;
	g_free(settings->server);
	g_free(settings->token_file);
	g_free(settings->ca_file);
	g_free(settings->node);
	g_strfreev(settings->labels);
	g_free(settings->prefix);
	g_strfreev(settings->rails);
	g_free(settings);
}
