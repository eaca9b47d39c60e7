/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <rdmad/error.h>
#include <string.h>

#define MINUTE_MS    60000
#define PATTERNS_MAX 256
#define POLICIES_MAX 256
#define REQUESTS_MAX 256
#define TABLE_MIN    256   /* lower numbers belong to the kernel and distributions */
#define PRIORITY_MAX 32765 /* before the main table */
#define MTU_MAX	     65535

const char *const cni_modes[] = { "allocation", "exclusive", "shared", "shared-multi",
				  "sriov",	"ipoib",     NULL };
static const char *const links[] = { "macvlan", "ipvlan", NULL };
static const char *const addresses[] = { "auto", "none", NULL };
static const char *const rp_filters[] = { "loose", "off", NULL };
static const char *const macvlan_modes[] = { "bridge", "private", "vepa", "passthru", NULL };
static const char *const ipvlan_modes[] = { "l2", "l3", "l3s", NULL };
static const char *const ipoib_modes[] = { "datagram", "connected", NULL };

CniMode cni_mode_parse(const char *text)
{
	for (CniMode mode = CNI_MODE_ALLOCATION; cni_modes[mode]; mode++)
		if (g_strcmp0(cni_modes[mode], text) == 0)
			return mode;
	return CNI_MODE_ALLOCATION;
}

gboolean cni_mode_moves_nic(CniMode mode)
{
	return mode == CNI_MODE_EXCLUSIVE || mode == CNI_MODE_SRIOV;
}

const char *cni_policy_macvlan_mode(const CniPolicy *policy)
{
	return macvlan_modes[policy->macvlan_mode];
}

const char *cni_policy_ipvlan_mode(const CniPolicy *policy)
{
	return ipvlan_modes[policy->ipvlan_mode];
}

const char *cni_policy_ipoib_mode(const CniPolicy *policy)
{
	return ipoib_modes[policy->ipoib_mode];
}

/* ---- policies ---- */

static void policy_free(gpointer data)
{
	CniPolicy *policy = data;

	g_free(policy->name);
	g_strfreev(policy->netdevs);
	g_strfreev(policy->devices);
	g_strfreev(policy->pci_addresses);
	g_free(policy);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniPolicy, policy_free)

static CniPolicy *policy_new(void)
{
	CniPolicy *policy = g_new0(CniPolicy, 1);

	policy->routes = TRUE;
	policy->policy_routing = TRUE;
	policy->announce = TRUE;
	policy->wait_gid = TRUE;
	policy->prove = TRUE;
	return policy;
}

static gboolean name_check(const char *text, GError **error)
{
	const gsize plain = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	if (plain && text[plain] == '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\": a name has lower-case letters, digits, \"-\", \"_\" and \".\"", text);
	return FALSE;
}

#define PATTERNS_FIELD(k, member)                                                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRINGS,                                          \
		.offset = G_STRUCT_OFFSET(CniPolicy, member), .max = PATTERNS_MAX                  \
	}

static const RdmadConfigField POLICY_FIELDS[] = {
	{ .key = "name",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(CniPolicy, name),
	  .min = 1,
	  .max = 64,
	  .required = TRUE,
	  .check = name_check },
	PATTERNS_FIELD("netdevs", netdevs),
	PATTERNS_FIELD("devices", devices),
	PATTERNS_FIELD("pci_addresses", pci_addresses),
	RDMAD_CONFIG_ENUM_FIELD("mode", CniPolicy, mode, cni_modes),
	RDMAD_CONFIG_ENUM_FIELD("link", CniPolicy, link, links),
	RDMAD_CONFIG_ENUM_FIELD("macvlan_mode", CniPolicy, macvlan_mode, macvlan_modes),
	RDMAD_CONFIG_ENUM_FIELD("ipvlan_mode", CniPolicy, ipvlan_mode, ipvlan_modes),
	RDMAD_CONFIG_ENUM_FIELD("ipoib_mode", CniPolicy, ipoib_mode, ipoib_modes),
	RDMAD_CONFIG_INT_FIELD("mtu", CniPolicy, mtu, 68, MTU_MAX),
	RDMAD_CONFIG_ENUM_FIELD("addresses", CniPolicy, addresses, addresses),
	RDMAD_CONFIG_ENUM_FIELD("rp_filter", CniPolicy, rp_filter, rp_filters),
	RDMAD_CONFIG_BOOL_FIELD("routes", CniPolicy, routes),
	RDMAD_CONFIG_BOOL_FIELD("default_route", CniPolicy, default_route),
	RDMAD_CONFIG_BOOL_FIELD("policy_routing", CniPolicy, policy_routing),
	RDMAD_CONFIG_BOOL_FIELD("dad", CniPolicy, dad),
	RDMAD_CONFIG_BOOL_FIELD("announce", CniPolicy, announce),
	RDMAD_CONFIG_BOOL_FIELD("carrier", CniPolicy, carrier),
	RDMAD_CONFIG_BOOL_FIELD("wait_gid", CniPolicy, wait_gid),
	RDMAD_CONFIG_BOOL_FIELD("prove", CniPolicy, prove),
	RDMAD_CONFIG_BOOL_FIELD("last_way", CniPolicy, last_way),
	RDMAD_CONFIG_FIELDS_END,
};

static gboolean policies_parse(CniSettings *settings, GError **error)
{
	for (guint i = 0; i < rdmad_config_length(settings->networks); i++) {
		const RdmadConfigNode *node = rdmad_config_entry(settings->networks, i);
		g_autoptr(CniPolicy) policy = policy_new();

		if (!rdmad_config_parse(node, POLICY_FIELDS, policy, error))
			return FALSE;
		if (cni_settings_policy_named(settings, policy->name))
			return rdmad_config_error(node, "name", error, "\"%s\" is there already",
						  policy->name);
		g_ptr_array_add(settings->policies, g_steal_pointer(&policy));
	}
	return TRUE;
}

/* The default policy matches the devices that no other policy matches. */
static void policies_finish(CniSettings *settings)
{
	CniPolicy *policy = policy_new();

	policy->name = g_strdup("default");
	g_ptr_array_add(settings->policies, policy);
}

/* ---- the module ---- */

static gboolean path_check(const char *text, GError **error)
{
	if (g_path_is_absolute(text))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" must be an absolute path",
		    text);
	return FALSE;
}

static const char *const annotation_froms[] = { "runtime", "api", NULL };

static const RdmadConfigField FIELDS[] = {
	{ .key = "socket",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(CniSettings, socket),
	  .check = path_check },
	{ .key = "spool_dir",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(CniSettings, spool_dir),
	  .check = path_check },
	{ .key = "plugin_path",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(CniSettings, plugin_path),
	  .max = 64,
	  .check = path_check },
	RDMAD_CONFIG_ENUM_FIELD("annotation_from", CniSettings, annotation_from, annotation_froms),
	{ .key = "annotation_networks",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(CniSettings, annotation_networks),
	  .max = PATTERNS_MAX },
	RDMAD_CONFIG_INT_FIELD("requests", CniSettings, requests, 1, REQUESTS_MAX),
	RDMAD_CONFIG_INT_FIELD("queue", CniSettings, queue, 0, 65536),
	RDMAD_CONFIG_DURATION_FIELD("request_timeout", CniSettings, request_timeout_ms, 1000,
				    10 * MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("ipam_timeout", CniSettings, ipam_timeout_ms, 100,
				    10 * MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("gid_timeout", CniSettings, gid_timeout_ms, 10, MINUTE_MS),
	RDMAD_CONFIG_DURATION_FIELD("carrier_timeout", CniSettings, carrier_timeout_ms, 0,
				    MINUTE_MS),
	RDMAD_CONFIG_INT_FIELD("table_base", CniSettings, table_base, TABLE_MIN, G_MAXINT32),
	RDMAD_CONFIG_INT_FIELD("rule_priority", CniSettings, rule_priority, 1, PRIORITY_MAX),
	{ .key = "networks",
	  .type = RDMAD_CONFIG_LIST,
	  .offset = G_STRUCT_OFFSET(CniSettings, networks),
	  .max = POLICIES_MAX },
	RDMAD_CONFIG_FIELDS_END,
};

static CniSettings *settings_new(void)
{
	CniSettings *settings = g_new0(CniSettings, 1);

	settings->refs = 1;
	settings->plugin_path =
		g_strdupv((char *[]){ (char *)"/opt/cni/bin", (char *)"/usr/lib/cni", NULL });
	settings->requests = 64;
	settings->queue = 1024;
	settings->request_timeout_ms = 90000;
	settings->ipam_timeout_ms = 30000;
	settings->gid_timeout_ms = 5000;
	settings->carrier_timeout_ms = 1000;
	settings->table_base = 1000;
	settings->rule_priority = 20000;
	settings->policies = g_ptr_array_new_with_free_func(policy_free);
	return settings;
}

CniSettings *cni_settings_ref(CniSettings *settings)
{
	settings->refs++;
	return settings;
}

void cni_settings_unref(CniSettings *settings)
{
	if (!settings || --settings->refs)
		return;
	g_free(settings->socket);
	g_free(settings->spool_dir);
	g_strfreev(settings->plugin_path);
	g_strfreev(settings->annotation_networks);
	g_ptr_array_unref(settings->policies);
	g_free(settings);
}

CniSettings *cni_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(CniSettings) settings = settings_new();

	if (!rdmad_config_parse(config, FIELDS, settings, error) ||
	    !policies_parse(settings, error))
		return NULL;
	if (settings->ipam_timeout_ms >= settings->request_timeout_ms) {
		rdmad_config_error(config, "ipam_timeout", error,
				   "must end before request_timeout");
		return NULL;
	}
	settings->networks = NULL;
	policies_finish(settings);
	return g_steal_pointer(&settings);
}

const CniPolicy *cni_settings_policy(const CniSettings *settings, const RdmadDevice *dev,
				     const char *netdev)
{
	const CniPolicy *policy = NULL;

	for (guint i = 0; i < settings->policies->len; i++) {
		policy = settings->policies->pdata[i];
		if (rdmad_config_patterns_match(policy->netdevs, netdev) &&
		    rdmad_config_patterns_match(policy->devices, dev->name) &&
		    rdmad_config_patterns_match(policy->pci_addresses, dev->pci_address))
			break;
	}
	return policy;
}

const CniPolicy *cni_settings_policy_named(const CniSettings *settings, const char *name)
{
	for (guint i = 0; i < settings->policies->len; i++) {
		const CniPolicy *policy = settings->policies->pdata[i];

		if (g_str_equal(policy->name, name))
			return policy;
	}
	return NULL;
}
