/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module nccl: for each container, the settings of NCCL that are right in its network namespace
 *
 *	modules = {
 *	  nccl = {
 *	    version = "any";		# of NCCL, "2.27"; "any": right for all, if possible
 *	    network = "auto";		# from the pod's process and attachments; "host": the host's
 *	    link_layer = "auto";	# "infiniband" or "roce" if a container has both
 *	    family = "auto";		# IPv4 before IPv6; "ipv4", "ipv6"
 *	    gid_by = "auto";		# one index if right, else a range; "index", "address"
 *	    allow_link_local = false;	# accept GIDs that are not routable
 *	    allow_subset = false;	# settings for the most ports, if none are right for all
 *	    devices = "*";		# device names; "!mlx5_9": never that one
 *	    subnets = ( );		# accept GIDs from these only: "192.0.2.0/24"
 *	    storage_subnets = ( );	# exclude ports with an address in these
 *	    use_default_route = false;	# on the host: include ports with the default route
 *	    gpu_distance = "PXB";	# on the host: the maximum, if a port is that near
 *	    socket_ifname = "auto";	# NCCL_SOCKET_IFNAME; "": not set; "=eth0"
 *	    traffic_class = -1;		# NCCL_IB_TC; -1 here and below: not set
 *	    service_level = -1;		# NCCL_IB_SL
 *	    pkey_index = -1;		# NCCL_IB_PKEY, InfiniBand
 *	    qps_per_connection = -1;	# NCCL_IB_QPS_PER_CONNECTION, 1 to 128
 *	    cross_nic = -1;		# NCCL_CROSS_NIC, 0 to 2
 *	    net_gdr_level = "auto";	# NCCL_NET_GDR_LEVEL: "LOC", "PIX", "PXB", "PHB", "SYS"
 *	    topology = false;		# write topology.xml, and set NCCL_TOPO_FILE
 *	    env_plugin = "";		# libnccl-env.so, put into /run/rdmad of containers
 *	    siblings = ( );		# also for "ucx", "nvshmem", "libfabric", "openmpi"
 *	  };
 *	};
 *
 * The module writes nccl.conf, nccl.env, plan.json and nccl-versions.conf into the directories of
 * allocations.  It needs neither root nor a capability.
 */
#include <jansson.h>
#include <rdmad/doctor.h>
#include <rdmad/log.h>
#include <rdmad/module.h>

#include "nccl.h"

typedef struct {
	RdmadModule *self;
	NcclSettings *settings;
	NcclContainers *containers;
	NcclStats *stats;
	NcclApi *api;
} Nccl;

static gpointer nccl_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	NcclSettings *settings = nccl_settings_parse(config, error);
	Nccl *nccl;

	if (!settings)
		return NULL;
	if (settings->version_warning)
		rdmad_warn("%s", settings->version_warning);
	nccl = g_new0(Nccl, 1);
	nccl->self = self;
	nccl->settings = settings;
	return nccl;
}

static gboolean nccl_start(gpointer state, GError **error)
{
	Nccl *nccl = state;

	nccl->containers = nccl_containers_new(nccl->self, &nccl->settings);
	nccl->stats = nccl_stats_new(nccl->self, nccl->containers, &nccl->settings, error);
	if (!nccl->stats)
		return FALSE;
	nccl->api = nccl_api_new(nccl->self, nccl->containers, &nccl->settings, error);
	return nccl->api != NULL;
}

static gboolean nccl_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Nccl *nccl = state;
	NcclSettings *settings = nccl_settings_parse(config, error);

	if (!settings)
		return FALSE;
	nccl_settings_free(nccl->settings);
	nccl->settings = settings;
	nccl_containers_replan(nccl->containers);
	return TRUE;
}

/* Also cleans up after a failed start. */
static void nccl_stop(gpointer state)
{
	Nccl *nccl = state;

	g_clear_pointer(&nccl->api, nccl_api_free);
	g_clear_pointer(&nccl->stats, nccl_stats_free);
	g_clear_pointer(&nccl->containers, nccl_containers_free);
}

static void nccl_destroy(gpointer state)
{
	Nccl *nccl = state;

	nccl_stop(nccl);
	nccl_settings_free(nccl->settings);
	g_free(nccl);
}

static json_t *nccl_status(gpointer state)
{
	const Nccl *nccl = state;
	const NcclContainer *container;
	GTreeNode *at = NULL;
	guint refused = 0;

	while (nccl_containers_next(nccl->containers, &at, &container))
		refused += container->plan && container->plan->refusal;
	return json_pack("{s:i, s:i}", "containers", (int)nccl_containers_count(nccl->containers),
			 "refused", (int)refused);
}

/* A container that does not have its network yet is a note, not a problem. */
static void nccl_doctor(gpointer state, json_t *findings)
{
	const Nccl *nccl = state;
	const NcclContainer *container;
	GTreeNode *at = NULL;

	while (nccl_containers_next(nccl->containers, &at, &container)) {
		const NcclPlan *plan = container->plan;
		const RdmadAllocation *first = container->allocations->pdata[0];
		const char *problem = container->look ? nccl_look_problem(container->look) : NULL;
		g_autofree char *key = nccl_container_key(first);
		g_autofree char *text = NULL;
		g_autofree char *advice = NULL;

		if (!plan || !plan->refusal)
			continue;
		text = g_strdup_printf("%s has no NCCL settings: %s%s%s", key, plan->reason,
				       problem ? "; " : "", problem ? problem : "");
		advice = g_strdup_printf("rdmad nccl-env --allocation %s --explain", first->id);
		rdmad_doctor_add(findings,
				 plan->refusal == NCCL_REFUSAL_NO_ADDRESSES ? RDMAD_FINDING_NOTE
									    : RDMAD_FINDING_PROBLEM,
				 "nccl", text, advice);
	}
}

RDMAD_MODULE_DEFINE("nccl", .description = "Tells containers the right settings of NCCL",
		    .create = nccl_create, .start = nccl_start, .reload = nccl_reload,
		    .stop = nccl_stop, .destroy = nccl_destroy, .status = nccl_status,
		    .doctor = nccl_doctor, .commands = NCCL_COMMANDS);
