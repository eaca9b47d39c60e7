/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/smc-look.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/network.h>
#include <rdmad/smc.h>
#include <rdmad/step.h>
#include <sys/socket.h>

/* A program in the pod may make any number of interfaces. */
#define APART_MAX 64u

void erdma_smc_query_free(gpointer data)
{
	ErdmaSmcQuery *query = data;

	g_free(query->netns);
	g_free(query->device);
	g_free(query);
}

void erdma_smc_host_free(gpointer data)
{
	ErdmaSmcHost *host = data;

	if (!host)
		return;
	rdmad_clear_fd(&host->netns);
	g_free(host->pnetid);
	g_strfreev(host->eids);
	g_free(host->problem);
	g_free(host);
}

/* ---- the host ---- */

static gboolean pnet_look(ErdmaSmcHost *host, const char *device, GError **error)
{
	g_autoptr(GPtrArray) pnets = rdmad_smc_pnets_list(error);

	for (guint i = 0; pnets && i < pnets->len; i++) {
		const RdmadSmcPnet *pnet = pnets->pdata[i];

		if (g_strcmp0(pnet->device, device) == 0) {
			g_free(host->pnetid);
			host->pnetid = g_strdup(pnet->pnetid);
			host->has_pnet = TRUE;
		}
	}
	return pnets != NULL;
}

static gboolean host_look(ErdmaSmcHost *host, const char *device, GError **error)
{
	g_auto(GStrv) devices = rdmad_smc_devices_list(error);

	if (!devices || !pnet_look(host, device, error))
		return FALSE;
	host->eids = rdmad_smc_eids_list(error);
	if (host->eids && !g_strv_contains((const char *const *)devices, device))
		host->problem = g_strdup_printf("the SMC of this kernel does not use %s (kernels "
						"other than those of Alibaba "
						"Cloud Linux need the driver's mode compat)",
						device);
	return host->eids != NULL;
}

gpointer erdma_smc_look(gpointer data, const RdmadJob *job, GError **error)
{
	const ErdmaSmcQuery *query = data;
	const RdmadNetnsId none = { 0 };
	g_autoptr(ErdmaSmcHost) host = g_new0(ErdmaSmcHost, 1);
	g_autoptr(GError) why = NULL;

	host->netns = query->netns ? rdmad_netns_open(query->netns, &host->netns_id, &why) : -1;
	if (host->netns >= 0 && !rdmad_netns_id_equal(&query->netns_id, &none) &&
	    !rdmad_netns_id_equal(&query->netns_id, &host->netns_id))
		rdmad_clear_fd(&host->netns);
	/* The end of a namespace is a fact; other errors, such as a lack of descriptors, may
	 * pass. */
	if (why && !rdmad_netns_is_gone(why)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return NULL;
	}
	if (!query->device)
		return g_steal_pointer(&host);
	if (query->netns && host->netns < 0) {
		host->problem = g_strdup(why ? why->message : "its network namespace is gone");
		return g_steal_pointer(&host);
	}
	if (!host_look(host, query->device, &why)) {
		/* A kernel without SMC is a fact about the host; other errors may pass and fail the
		 * job. */
		if (!g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&why));
			return NULL;
		}
		host->problem = g_strdup(why->message);
	}
	return g_steal_pointer(&host);
}

/* ---- the pod ---- */

void erdma_smc_files_free(gpointer data)
{
	ErdmaSmcFiles *files = data;

	rdmad_clear_fd(&files->socket);
	rdmad_clear_fd(&files->tcp2smc);
	rdmad_clear_fd(&files->disable_ipv6);
	rdmad_clear_fd(&files->default_ipv6);
	g_free(files);
}

void erdma_smc_network_free(gpointer data)
{
	ErdmaSmcNetwork *network = data;

	if (!network)
		return;
	g_free(network->interface);
	g_free(network->tcp2smc);
	g_free(network->disable_ipv6);
	g_clear_pointer(&network->ipv6_apart, g_ptr_array_unref);
	g_free(network);
}

/* The kernel's SMC-R uses IPv4, and the first link of a connection's route. */
static gboolean interface_look(RdmadNetwork *net, ErdmaSmcNetwork *network, GError **error)
{
	g_autoptr(GPtrArray) routes =
		rdmad_routes_list(net, AF_INET, RDMAD_ROUTE_TABLE_MAIN, 0, error);
	const RdmadRoute *best = NULL;
	g_autoptr(RdmadLink) link = NULL;

	for (guint i = 0; routes && i < routes->len; i++) {
		const RdmadRoute *route = routes->pdata[i];

		if (route->to.prefix == 0 && route->n_hops && route->hops[0].ifindex &&
		    (!best || route->metric < best->metric))
			best = route;
	}
	if (!best)
		return routes != NULL;
	link = rdmad_link_get_index(net, best->hops[0].ifindex, error);
	network->interface = link ? g_strdup(link->name) : NULL;
	return link != NULL;
}

/* Returns FALSE only after an error. */
static gboolean sysctl_look(int fd, char **value, GError **error)
{
	*value = fd < 0 ? NULL : rdmad_sysctl_read_fd(fd, error);
	return *value || fd < 0;
}

/* The kernel gives each interface, and "default", the value that "all" gets. */
static gboolean apart_look(RdmadNetwork *net, int default_ipv6, ErdmaSmcNetwork *network,
			   GError **error)
{
	const gboolean off = !g_str_equal(network->disable_ipv6, "0");
	g_autofree char *value = NULL;
	g_autoptr(GPtrArray) links = NULL;

	network->ipv6_apart = g_ptr_array_new_with_free_func(g_free);
	if (!sysctl_look(default_ipv6, &value, error))
		return FALSE;
	if (value && !g_str_equal(value, "0") != off)
		g_ptr_array_add(network->ipv6_apart, g_strdup("default"));
	links = rdmad_links_list(net, error);
	for (guint i = 0; links && i < links->len && network->ipv6_apart->len < APART_MAX; i++) {
		const RdmadLink *link = links->pdata[i];

		if (link->ipv6_off >= 0 && link->ipv6_off != off)
			g_ptr_array_add(network->ipv6_apart, g_strdup(link->name));
	}
	return links != NULL;
}

gpointer erdma_smc_look_pod(gpointer data, const RdmadJob *job, GError **error)
{
	ErdmaSmcFiles *files = data;
	g_autoptr(RdmadNetwork) net = rdmad_network_adopt(rdmad_steal_fd(&files->socket), error);
	g_autoptr(ErdmaSmcNetwork) network = g_new0(ErdmaSmcNetwork, 1);

	if (!net || !interface_look(net, network, error) ||
	    !sysctl_look(files->tcp2smc, &network->tcp2smc, error) ||
	    !sysctl_look(files->disable_ipv6, &network->disable_ipv6, error) ||
	    (network->disable_ipv6 && !apart_look(net, files->default_ipv6, network, error)))
		return NULL;
	return g_steal_pointer(&network);
}
