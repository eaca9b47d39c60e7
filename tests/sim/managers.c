/* SPDX-License-Identifier: Apache-2.0 */
#include "managers.h"

#include <rdmad/step.h>
#include <sys/socket.h>

#include "clock.h"
#include "network.h"

#define BY_DHCP	    16u /* RTPROT_DHCP */
#define DHCP_METRIC 50u /* before the primary NIC's */

typedef enum {
	CHANGE_DOWN,
	CHANGE_ADDRESS_REMOVED,
	CHANGE_ADDRESS_ADDED,
	CHANGE_DEFAULT_ADDED,
	CHANGE_ROUTES_REMOVED,
	N_CHANGES,
} Change;

static struct {
	Decisions *decisions;
	GArray *addresses[NETWORK_NICS]; /* of RdmadIp */
} managers;

const GArray *managers_addresses(guint nic)
{
	return managers.addresses[nic];
}

/* ---- changes ---- */

static void address_add(NetworkLink *link)
{
	const RdmadAddress address = { .ifindex = link->index,
				       .ip = network_ip(9, link->nic, "9/24") };

	if (network_address_find(link, &address.ip))
		return;
	network_address_set(network_host(), link, &address);
	g_array_append_val(managers.addresses[link->nic], address.ip);
}

static void address_forget(guint nic, const RdmadIp *ip)
{
	GArray *addresses = managers.addresses[nic];

	for (guint i = addresses->len; i-- > 0;)
		if (rdmad_ip_equal(&g_array_index(addresses, RdmadIp, i), ip))
			g_array_remove_index(addresses, i);
}

static void address_remove(NetworkLink *link)
{
	RdmadIp ip;

	if (!link->addresses->len)
		return;
	ip = g_array_index(link->addresses, RdmadAddress, 0).ip;
	address_forget(link->nic, &ip);
	network_address_remove(network_host(), link, &ip);
}

/* A DHCP client adds the route to the gateway of its address, like that of the primary NIC. */
static void default_add(const NetworkLink *link)
{
	RdmadRoute route = { .family = AF_INET,
			     .table = RDMAD_ROUTE_TABLE_MAIN,
			     .type = RDMAD_ROUTE_UNICAST,
			     .protocol = BY_DHCP,
			     .metric = DHCP_METRIC,
			     .n_hops = 1 };
	GArray *routes = network_host()->routes;
	RdmadIp gateway;

	if (!link->up || !link->addresses->len)
		return;
	for (guint i = 0; i < routes->len; i++)
		if (g_array_index(routes, RdmadRoute, i).metric == DHCP_METRIC)
			return;
	gateway = rdmad_ip_network(&g_array_index(link->addresses, RdmadAddress, 0).ip);
	gateway = rdmad_ip_host(&gateway);
	gateway.bytes[3] = 253;
	route.hops[0] = (RdmadRouteHop){ .gateway = gateway, .ifindex = link->index };
	g_array_append_val(routes, route);
}

/* All but the kernel's, as `ip route flush` does. */
static void routes_remove(const NetworkLink *link)
{
	GArray *routes = network_host()->routes;

	for (guint i = routes->len; i-- > 0;) {
		const RdmadRoute *route = &g_array_index(routes, RdmadRoute, i);

		if (route->hops[0].ifindex == link->index &&
		    route->protocol != RDMAD_ROUTE_BY_KERNEL)
			g_array_remove_index(routes, i);
	}
}

void managers_change(void)
{
	const guint nic = decide(managers.decisions, DECIDE_WHICH, NETWORK_PRIMARY);
	const Change change = (Change)decide(managers.decisions, DECIDE_CLOUD, N_CHANGES);
	NetworkLink *link = network_is_elastic() ? network_nic_on_host(nic) : NULL;

	if (!link)
		return;
	link->readdressed_us = clock_now_us();
	switch (change) {
	case CHANGE_DOWN:
		network_link_set_up(network_host(), link, FALSE);
		break;
	case CHANGE_ADDRESS_REMOVED:
		address_remove(link);
		break;
	case CHANGE_ADDRESS_ADDED:
		address_add(link);
		break;
	case CHANGE_DEFAULT_ADDED:
		default_add(link);
		break;
	case CHANGE_ROUTES_REMOVED:
		routes_remove(link);
		break;
	case N_CHANGES:
		break;
	}
	network_host_changed();
}

void managers_set_down(void)
{
	NetworkLink *link = network_is_elastic() ? network_nic_on_host(0) : NULL;

	if (!link)
		return;
	network_link_set_up(network_host(), link, FALSE);
	network_host_changed();
}

/* ---- life cycle ---- */

void managers_reboot(void)
{
	for (guint nic = 0; nic < NETWORK_NICS; nic++) {
		const NetworkLink *link = network_nic_on_host(nic);

		g_array_set_size(managers.addresses[nic], 0);
		for (guint i = 0; i < link->addresses->len; i++)
			g_array_append_val(managers.addresses[nic],
					   g_array_index(link->addresses, RdmadAddress, i).ip);
	}
}

void managers_begin(Decisions *decisions)
{
	managers.decisions = decisions;
	for (guint nic = 0; nic < NETWORK_NICS; nic++)
		managers.addresses[nic] = g_array_new(FALSE, FALSE, sizeof(RdmadIp));
	managers_reboot();
}

void managers_end(void)
{
	for (guint nic = 0; nic < NETWORK_NICS; nic++)
		g_array_unref(managers.addresses[nic]);
}
