/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/nic-settings.h"

#include <rdmad/config.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/socket.h>

#define LIST_MAX     256
#define TABLE_MIN    256   /* lower numbers belong to the kernel and distributions */
#define PRIORITY_MAX 32765 /* before the main table */
#define MTU_MAX	     9216
#define MINUTE_MS    60000

static const char *const froms[] = { "auto", "netdev", "metadata", "static", NULL };
static const char *const jumbos[] = { "keep", "on", "off", NULL };
static const char *const tokens[] = { "auto", "required", "off", NULL };

/* ---- static addresses ---- */

static gboolean address_check(const char *text, GError **error)
{
	RdmadIp ip;

	if (!rdmad_ip_parse(text, &ip, error))
		return FALSE;
	if (strchr(text, '/') && !rdmad_ip_is_link_local(&ip))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" must be an address with its prefix, and not of the link alone", text);
	return FALSE;
}

static gboolean gateway_check(const char *text, GError **error)
{
	RdmadIp ip;

	if (!rdmad_ip_parse(text, &ip, error))
		return FALSE;
	if (!strchr(text, '/'))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" must be without a prefix",
		    text);
	return FALSE;
}

static const RdmadConfigField address_fields[] = {
	{ .key = "nic",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ErdmaNicAddresses, nic),
	  .required = TRUE,
	  .min = 1,
	  .max = 64 },
	{ .key = "addresses",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(ErdmaNicAddresses, texts),
	  .max = 16,
	  .check = address_check },
	{ .key = "gateways",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(ErdmaNicAddresses, gateway_texts),
	  .max = 2,
	  .check = gateway_check },
	RDMAD_CONFIG_INT_FIELD("mtu", ErdmaNicAddresses, mtu, 0, MTU_MAX),
	RDMAD_CONFIG_FIELDS_END,
};

static void addresses_free(gpointer data)
{
	ErdmaNicAddresses *entry = data;

	g_free(entry->nic);
	g_strfreev(entry->texts);
	g_strfreev(entry->gateway_texts);
	g_array_unref(entry->addresses);
	g_free(entry);
}

/* A gateway must be in one of the networks, or it belongs to another NIC. */
static gboolean gateway_set(ErdmaNicAddresses *entry, const RdmadIp *gateway)
{
	for (guint i = 0; i < entry->addresses->len; i++)
		if (rdmad_ip_in(gateway, &g_array_index(entry->addresses, RdmadIp, i))) {
			entry->gateway[gateway->family == AF_INET6] = *gateway;
			return TRUE;
		}
	return entry->addresses->len == 0;
}

static gboolean addresses_finish(ErdmaNicAddresses *entry, const RdmadConfigNode *node,
				 GError **error)
{
	RdmadIp ip;

	for (char **text = entry->texts; text && *text; text++)
		if (rdmad_ip_parse(*text, &ip, error))
			g_array_append_val(entry->addresses, ip);
	for (char **text = entry->gateway_texts; text && *text; text++)
		if (!rdmad_ip_parse(*text, &ip, error) || !gateway_set(entry, &ip))
			return rdmad_config_error(node, "gateways", error,
						  "\"%s\" is in none of the NIC's networks", *text);
	return TRUE;
}

static gboolean addresses_parse(ErdmaNicSettings *settings, const RdmadConfigNode *list,
				GError **error)
{
	for (guint i = 0; i < rdmad_config_length(list); i++) {
		const RdmadConfigNode *node = rdmad_config_entry(list, i);
		ErdmaNicAddresses *entry = g_new0(ErdmaNicAddresses, 1);

		entry->addresses = g_array_new(FALSE, FALSE, sizeof(RdmadIp));
		g_ptr_array_add(settings->addresses, entry);
		if (!rdmad_config_parse(node, address_fields, entry, error) ||
		    !addresses_finish(entry, node, error))
			return FALSE;
	}
	return TRUE;
}

/* ---- the metadata service ---- */

static gboolean url_check(const char *text, GError **error)
{
	if ((g_str_has_prefix(text, "http://") || g_str_has_prefix(text, "https://")) &&
	    !g_str_has_suffix(text, "/") && !strpbrk(text, "?# "))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" must be http://HOST[:PORT] or https://HOST[:PORT]", text);
	return FALSE;
}

static const RdmadConfigField metadata_fields[] = {
	{ .key = "url",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ErdmaNicSettings, metadata.url),
	  .max = 256,
	  .check = url_check },
	RDMAD_CONFIG_ENUM_FIELD("token", ErdmaNicSettings, metadata.token, tokens),
	RDMAD_CONFIG_DURATION_FIELD("connect_timeout", ErdmaNicSettings,
				    metadata.connect_timeout_ms, 50, MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("timeout", ErdmaNicSettings, metadata.timeout_ms, 100,
				    MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("cache", ErdmaNicSettings, metadata.cache_ms, 1000,
				    (gint64)7 * 24 * 60 * MINUTE_MS),
	RDMAD_CONFIG_INT_FIELD("tries", ErdmaNicSettings, metadata.tries, 1, 10),
	RDMAD_CONFIG_FIELDS_END,
};

/* ---- the group ---- */

static const RdmadConfigField fields[] = {
	RDMAD_CONFIG_BOOL_FIELD("manage", ErdmaNicSettings, manage),
	{ .key = "exclude",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(ErdmaNicSettings, exclude),
	  .max = LIST_MAX },
	{ .key = "primary",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(ErdmaNicSettings, primary),
	  .max = 64 },
	RDMAD_CONFIG_ENUM_FIELD("address_from", ErdmaNicSettings, address_from, froms),
	RDMAD_CONFIG_ENUM_FIELD("jumbo_frames", ErdmaNicSettings, jumbo, jumbos),
	RDMAD_CONFIG_INT_FIELD("metric", ErdmaNicSettings, metric, 1, 1000000),
	RDMAD_CONFIG_BOOL_FIELD("default_route", ErdmaNicSettings, default_route),
	RDMAD_CONFIG_BOOL_FIELD("lower_routes", ErdmaNicSettings, lower_routes),
	RDMAD_CONFIG_BOOL_FIELD("repair", ErdmaNicSettings, repair),
	RDMAD_CONFIG_BOOL_FIELD("policy_routing", ErdmaNicSettings, policy_routing),
	RDMAD_CONFIG_INT_FIELD("table_base", ErdmaNicSettings, table_base, TABLE_MIN,
			       G_MAXINT32 / 2),
	RDMAD_CONFIG_INT_FIELD("rule_priority", ErdmaNicSettings, rule_priority, 1, PRIORITY_MAX),
	RDMAD_CONFIG_GROUP_FIELD("metadata", ErdmaNicSettings, metadata_group),
	{ .key = "addresses",
	  .type = RDMAD_CONFIG_LIST,
	  .offset = G_STRUCT_OFFSET(ErdmaNicSettings, address_list),
	  .max = LIST_MAX },
	RDMAD_CONFIG_FIELDS_END,
};

static ErdmaNicSettings *settings_new(void)
{
	ErdmaNicSettings *settings = g_new0(ErdmaNicSettings, 1);

	settings->manage = TRUE;
	settings->metric = 200;
	settings->default_route = settings->lower_routes = settings->repair = TRUE;
	settings->table_base = 20000;
	settings->rule_priority = 20000;
	settings->metadata.url = g_strdup("http://100.100.100.200");
	settings->metadata.connect_timeout_ms = 1000;
	settings->metadata.timeout_ms = 2000;
	settings->metadata.cache_ms = (guint64)60 * MINUTE_MS;
	settings->metadata.tries = 3;
	settings->addresses = g_ptr_array_new_with_free_func(addresses_free);
	return settings;
}

void erdma_nic_settings_free(ErdmaNicSettings *settings)
{
	if (!settings)
		return;
	g_strfreev(settings->exclude);
	g_free(settings->primary);
	g_free(settings->metadata.url);
	g_ptr_array_unref(settings->addresses);
	g_free(settings);
}

ErdmaNicSettings *erdma_nic_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(ErdmaNicSettings) settings = settings_new();

	if (!rdmad_config_parse(config, fields, settings, error) ||
	    !rdmad_config_parse(settings->metadata_group, metadata_fields, settings, error) ||
	    !addresses_parse(settings, settings->address_list, error))
		return NULL;
	/* The nodes are freed with the configuration file. */
	settings->metadata_group = settings->address_list = NULL;
	return g_steal_pointer(&settings);
}

gboolean erdma_nic_is_named(const char *pattern, const char *const names[], guint n)
{
	g_autofree char *folded = g_ascii_strdown(pattern, -1);

	for (guint i = 0; i < n; i++) {
		g_autofree char *name = names[i] ? g_ascii_strdown(names[i], -1) : NULL;

		if (name && g_pattern_match_simple(folded, name))
			return TRUE;
	}
	return FALSE;
}
