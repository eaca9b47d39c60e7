/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of elastic NICs, which module erdma configures on the host. */
#include <rdmad/step.h>

#include "judge.h"
#include "managers.h"
#include "metadata.h"
#include "network.h"
#include "node.h"

#define BY_RDMAD 237u

static gboolean is_default(const RdmadRoute *route)
{
	return route->to.prefix == 0 && route->table == RDMAD_ROUTE_TABLE_MAIN;
}

static gboolean is_of_link(const RdmadRoute *route, const NetworkLink *link)
{
	return route->hops[0].ifindex == link->index;
}

/* ---- at each step ---- */

/* Returns whether a route takes traffic from the primary NIC. */
static gboolean takes_precedence(const RdmadRoute *route)
{
	const RdmadIp primary = metadata_address(NETWORK_PRIMARY);
	const RdmadIp in = rdmad_ip_network(&primary);

	if (route->protocol == BY_RDMAD && is_default(route))
		return route->metric <= NETWORK_PRIMARY_METRIC;
	return rdmad_ip_equal(&route->to, &in) && route->metric == 0;
}

static void primary_check(void)
{
	const GArray *routes = network_host()->routes;
	const NetworkLink *primary = network_nic_on_host(NETWORK_PRIMARY);
	g_autofree char *differs = network_nic_differs(NETWORK_PRIMARY);
	gboolean has_default = FALSE;

	if (differs)
		judge_fails("the primary NIC was changed: it %s", differs);
	for (guint i = 0; primary && i < routes->len; i++) {
		const RdmadRoute *route = &g_array_index(routes, RdmadRoute, i);

		if (is_of_link(route, primary))
			has_default |= is_default(route);
		else if (takes_precedence(route))
			judge_fails("a route takes precedence over the primary NIC's: metric %u",
				    route->metric);
	}
	if (!has_default)
		judge_fails("the primary NIC has lost its default route");
}

void judge_nics_look(void)
{
	if (network_is_elastic())
		primary_check();
}

/* ---- at the end ---- */

static gboolean has_route_to(const NetworkLink *link, const RdmadIp *to)
{
	const GArray *routes = network_host()->routes;

	for (guint i = 0; i < routes->len; i++) {
		const RdmadRoute *route = &g_array_index(routes, RdmadRoute, i);

		if (is_of_link(route, link) && rdmad_ip_equal(&route->to, to))
			return TRUE;
	}
	return FALSE;
}

/* Checks the addresses, of which rdmad has set one at the most. */
static void addresses_check(guint nic, const NetworkLink *link)
{
	const RdmadIp own = metadata_address(nic);
	RdmadIp fixed;
	guint n_own = 0;

	g_assert_true(rdmad_ip_parse(NODE_STATIC_ADDRESS, &fixed, NULL));
	if (!link->addresses->len)
		judge_fails("a NIC has no address: eth%u", 1 + nic);
	for (guint i = 0; i < link->addresses->len; i++) {
		const RdmadIp ip = g_array_index(link->addresses, RdmadAddress, i).ip;
		const RdmadIp in = rdmad_ip_network(&ip);

		n_own += rdmad_ip_equal(&ip, &own) || rdmad_ip_equal(&ip, &fixed);
		if (!has_route_to(link, &in))
			judge_fails("the network of an address has no route: eth%u", 1 + nic);
	}
	if (n_own > 1)
		judge_fails("a NIC keeps an address that rdmad had set before: eth%u", 1 + nic);
}

static void others_check(guint nic, const NetworkLink *link)
{
	const GArray *others = managers_addresses(nic);

	for (guint i = 0; i < others->len; i++)
		if (!network_address_find(link, &g_array_index(others, RdmadIp, i)))
			judge_fails("a NIC has lost an address of another program: eth%u", 1 + nic);
}

static void defaults_check(guint nic, const NetworkLink *link)
{
	const GArray *routes = network_host()->routes;
	const RdmadIp own = metadata_address(nic);
	guint n_own = 0, n_others = 0;

	for (guint i = 0; i < routes->len; i++) {
		const RdmadRoute *route = &g_array_index(routes, RdmadRoute, i);

		if (!is_of_link(route, link) || !is_default(route))
			continue;
		*(route->protocol == BY_RDMAD ? &n_own : &n_others) += 1;
		if (route->metric <= NETWORK_PRIMARY_METRIC)
			judge_fails("a default route stays before the primary NIC's: eth%u",
				    1 + nic);
	}
	if (n_own > 1)
		judge_fails("a NIC has %u default routes of rdmad: eth%u", n_own, 1 + nic);
	if (network_address_find(link, &own) && !n_own && !n_others && !network_nic_is_stale(nic))
		judge_fails("a NIC has no default route: eth%u", 1 + nic);
}

void judge_nics_quiet(void)
{
	for (guint nic = 0; nic < NETWORK_PRIMARY && network_is_elastic(); nic++) {
		const NetworkLink *link = network_nic_on_host(nic);

		if (!link)
			continue;
		if (!link->up)
			judge_fails("a NIC stays down: eth%u", 1 + nic);
		defaults_check(nic, link);
		if (network_nic_is_stale(nic))
			continue;
		addresses_check(nic, link);
		others_check(nic, link);
	}
}
