/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <limits.h>
#include <rdmad/error.h>
#include <string.h>

#include "env.h"
#include "gid.h"
#include "write.h"

#define PATTERNS_MAX 256
#define RANGES_MAX   64
#define IFNAME_MAX   1000

static const char *const LINKS[] = { "auto", "infiniband", "roce", NULL };
static const char *const FAMILIES[] = { "auto", "ipv4", "ipv6", NULL };
static const char *const BYS[] = { "auto", "index", "address", NULL };
static const char *const NETWORKS[] = { "auto", "host", NULL };
static const char *const DISTANCES[] = { "X", "PIX", "PXB", "PHB", "NODE", "SYS", NULL };
static const char *const GDR_LEVELS[] = { "auto", "LOC", "PIX", "PXB", "PHB", "SYS", NULL };
static const char *const SIBLINGS[] = { "ucx", "nvshmem", "libfabric", "openmpi", NULL };

/* The fields of the group before validation. */
typedef struct {
	int link_layer, family, by, network, gpu_distance, net_gdr_level;
	gboolean allow_link_local, allow_subset, use_default_route, topology;
	char *version, *socket_ifname, *env_plugin;
	char **devices, **subnets, **storage_subnets, **siblings;
	gint64 tc, sl, pkey, qps, cross_nic;
} Fields;

static gboolean range_check(const char *text, GError **error)
{
	NcclRange range;

	return nccl_range_parse(text, &range, error);
}

static gboolean sibling_check(const char *text, GError **error)
{
	if (g_strv_contains(SIBLINGS, text))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" must be \"ucx\", \"nvshmem\", \"libfabric\" or \"openmpi\"", text);
	return FALSE;
}

static gboolean plain_check(const char *text, GError **error)
{
	if (nccl_env_value_is_plain(text))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" has characters that nccl.conf cannot hold", text);
	return FALSE;
}

#define STRINGS(key_, member_, max_, check_)                                                       \
	{                                                                                          \
		.key = (key_), .type = RDMAD_CONFIG_STRINGS,                                       \
		.offset = G_STRUCT_OFFSET(Fields, member_), .max = (max_), .check = (check_)       \
	}
#define STRING(key_, member_, max_, check_)                                                        \
	{                                                                                          \
		.key = (key_), .type = RDMAD_CONFIG_STRING,                                        \
		.offset = G_STRUCT_OFFSET(Fields, member_), .max = (max_), .check = (check_)       \
	}

static const RdmadConfigField FIELDS[] = {
	STRING("version", version, 32, NULL),
	RDMAD_CONFIG_ENUM_FIELD("network", Fields, network, NETWORKS),
	RDMAD_CONFIG_ENUM_FIELD("link_layer", Fields, link_layer, LINKS),
	RDMAD_CONFIG_ENUM_FIELD("family", Fields, family, FAMILIES),
	RDMAD_CONFIG_ENUM_FIELD("gid_by", Fields, by, BYS),
	RDMAD_CONFIG_BOOL_FIELD("allow_link_local", Fields, allow_link_local),
	RDMAD_CONFIG_BOOL_FIELD("allow_subset", Fields, allow_subset),
	STRINGS("devices", devices, PATTERNS_MAX, rdmad_config_pattern_check),
	STRINGS("subnets", subnets, RANGES_MAX, range_check),
	STRINGS("storage_subnets", storage_subnets, RANGES_MAX, range_check),
	RDMAD_CONFIG_BOOL_FIELD("use_default_route", Fields, use_default_route),
	RDMAD_CONFIG_ENUM_FIELD("gpu_distance", Fields, gpu_distance, DISTANCES),
	STRING("socket_ifname", socket_ifname, IFNAME_MAX, plain_check),
	RDMAD_CONFIG_INT_FIELD("traffic_class", Fields, tc, NCCL_UNSET, 255),
	RDMAD_CONFIG_INT_FIELD("service_level", Fields, sl, NCCL_UNSET, 15),
	RDMAD_CONFIG_INT_FIELD("pkey_index", Fields, pkey, NCCL_UNSET, 65535),
	RDMAD_CONFIG_INT_FIELD("qps_per_connection", Fields, qps, NCCL_UNSET, 128),
	RDMAD_CONFIG_INT_FIELD("cross_nic", Fields, cross_nic, NCCL_UNSET, 2),
	RDMAD_CONFIG_ENUM_FIELD("net_gdr_level", Fields, net_gdr_level, GDR_LEVELS),
	RDMAD_CONFIG_BOOL_FIELD("topology", Fields, topology),
	STRING("env_plugin", env_plugin, PATH_MAX, NULL),
	STRINGS("siblings", siblings, G_N_ELEMENTS(SIBLINGS), sibling_check),
	RDMAD_CONFIG_FIELDS_END,
};

static void fields_clear(Fields *fields)
{
	g_free(fields->version);
	g_free(fields->socket_ifname);
	g_free(fields->env_plugin);
	g_strfreev(fields->devices);
	g_strfreev(fields->subnets);
	g_strfreev(fields->storage_subnets);
	g_strfreev(fields->siblings);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fields, fields_clear)

static NcclSiblings siblings_of(char *const *names)
{
	NcclSiblings siblings = 0;

	for (guint i = 0; SIBLINGS[i]; i++)
		if (names && g_strv_contains((const char *const *)names, SIBLINGS[i]))
			siblings |= 1u << i;
	return siblings;
}

static gboolean policy_fill(NcclPolicy *policy, Fields *fields, GError **error)
{
	nccl_policy_clear(policy);
	*policy = (NcclPolicy){
		.link_layer = fields->link_layer,
		.family = fields->family,
		.by = fields->by,
		.allow_link_local = fields->allow_link_local,
		.allow_subset = fields->allow_subset,
		.devices = g_steal_pointer(&fields->devices),
		.use_default_route = fields->use_default_route,
		.gpu_distance = fields->gpu_distance,
		.socket_ifname = g_steal_pointer(&fields->socket_ifname),
		.tc = fields->tc,
		.sl = fields->sl,
		.pkey = fields->pkey,
		.qps_per_connection = fields->qps,
		.cross_nic = fields->cross_nic,
		.siblings = siblings_of(fields->siblings),
	};
	if (fields->net_gdr_level > 0)
		policy->net_gdr_level = g_strdup(GDR_LEVELS[fields->net_gdr_level]);
	if (fields->topology)
		policy->topo_file = g_strdup(NCCL_MOUNT "/" NCCL_TOPOLOGY_FILE);
	policy->subnets = nccl_policy_ranges(fields->subnets, error);
	policy->storage_subnets =
		policy->subnets ? nccl_policy_ranges(fields->storage_subnets, error) : NULL;
	return policy->storage_subnets != NULL;
}

/* Rejects 0 queue pairs, which the range allows. */
static gboolean fields_check(const RdmadConfigNode *config, const Fields *fields, GError **error)
{
	return fields->qps != 0 || rdmad_config_error(config, "qps_per_connection", error,
						      "0 is too small: 1 to 128, or -1");
}

/* The file is read here, so that a missing file is reported with the line of the configuration. */
static gboolean plugin_load(NcclSettings *settings, const RdmadConfigNode *config, const char *path,
			    GError **error)
{
	g_autoptr(GError) wrong = NULL;

	if (!path || !path[0])
		return TRUE;
	settings->env_plugin = nccl_env_plugin_load(path, &wrong);
	if (!settings->env_plugin)
		return rdmad_config_error(config, "env_plugin", error, "%s", wrong->message);
	settings->policy.env_plugin = g_strdup(NCCL_MOUNT "/" NCCL_PLUGIN_FILE);
	return TRUE;
}

NcclSettings *nccl_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(NcclSettings) settings = g_new0(NcclSettings, 1);
	g_auto(Fields) fields = {
		.version = g_strdup("any"),
		.socket_ifname = g_strdup("auto"),
		.gpu_distance = RDMAD_DISTANCE_PXB,
		.tc = NCCL_UNSET,
		.sl = NCCL_UNSET,
		.pkey = NCCL_UNSET,
		.qps = NCCL_UNSET,
		.cross_nic = NCCL_UNSET,
	};
	g_autoptr(GError) wrong = NULL;

	if (!rdmad_config_parse(config, FIELDS, &fields, error) ||
	    !fields_check(config, &fields, error))
		return NULL;
	if (!nccl_versions_parse(fields.version, &settings->versions, &settings->version_warning,
				 &wrong)) {
		rdmad_config_error(config, "version", error, "%s", wrong->message);
		return NULL;
	}
	if (!policy_fill(&settings->policy, &fields, error) ||
	    !plugin_load(settings, config, fields.env_plugin, error))
		return NULL;
	settings->host_network = fields.network == 1;
	return g_steal_pointer(&settings);
}

void nccl_settings_free(NcclSettings *settings)
{
	nccl_policy_clear(&settings->policy);
	g_clear_pointer(&settings->env_plugin, g_bytes_unref);
	g_free(settings->version_warning);
	g_free(settings);
}
