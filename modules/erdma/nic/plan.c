/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_addr.h>
#include <string.h>
#include <sys/socket.h>

#include "nic/planner.h"

static const char *const state_names[ERDMA_N_NIC_STATES] = {
	[ERDMA_NIC_READY] = "ready",	   [ERDMA_NIC_CHANGES] = "changing",
	[ERDMA_NIC_METADATA] = "metadata", [ERDMA_NIC_PRIMARY] = "primary",
	[ERDMA_NIC_EXCLUDED] = "excluded", [ERDMA_NIC_FOREIGN] = "foreign",
	[ERDMA_NIC_REFUSED] = "refused",
};

const char *erdma_nic_state_name(ErdmaNicState state)
{
	return state_names[state];
}

/* ---- networks ---- */

ErdmaNicNetwork *erdma_nic_network_new(ErdmaAddressFrom from)
{
	ErdmaNicNetwork *network = g_new0(ErdmaNicNetwork, 1);

	network->from = from;
	network->addresses = g_array_new(FALSE, FALSE, sizeof(RdmadIp));
	network->former = g_array_new(FALSE, FALSE, sizeof(RdmadIp));
	return network;
}

ErdmaNicNetwork *erdma_nic_network_copy(const ErdmaNicNetwork *network)
{
	ErdmaNicNetwork *copy = erdma_nic_network_new(network->from);

	g_array_append_vals(copy->addresses, network->addresses->data, network->addresses->len);
	memcpy(copy->gateway, network->gateway, sizeof(copy->gateway));
	copy->complete = network->complete;
	return copy;
}

void erdma_nic_network_free(ErdmaNicNetwork *network)
{
	if (!network)
		return;
	g_array_unref(network->addresses);
	g_array_unref(network->former);
	g_free(network);
}

static gboolean has_address(const GArray *addresses, const RdmadIp *ip)
{
	for (guint i = 0; i < addresses->len; i++)
		if (rdmad_ip_equal(&g_array_index(addresses, RdmadIp, i), ip))
			return TRUE;
	return FALSE;
}

gboolean erdma_nic_network_has(const ErdmaNicNetwork *network, const RdmadIp *ip)
{
	return network && has_address(network->addresses, ip);
}

gboolean erdma_nic_network_set(const ErdmaNicNetwork *network, const RdmadIp *ip)
{
	return network &&
	       (has_address(network->former, ip) ||
		(network->from != ERDMA_ADDRESS_NETDEV && has_address(network->addresses, ip)));
}

void erdma_plan_free(ErdmaPlan *plan)
{
	if (!plan)
		return;
	g_free(plan->reason);
	g_free(plan->note);
	erdma_nic_network_free(plan->wanted);
	g_ptr_array_unref(plan->steps);
	g_free(plan);
}

RdmadStep *erdma_plan_step(Planner *planner, RdmadStepKind kind)
{
	RdmadStep *step = rdmad_step_new(kind, RDMAD_STEP_IN_HOST);

	g_ptr_array_add(planner->plan->steps, step);
	return step;
}

RdmadStep *erdma_plan_last(Planner *planner, RdmadStepKind kind)
{
	RdmadStep *step = rdmad_step_new(kind, RDMAD_STEP_IN_HOST);

	g_ptr_array_add(planner->last, step);
	return step;
}

/* ---- sources of addresses ---- */

const ErdmaNicAddresses *erdma_nic_static(const ErdmaNicSettings *settings, const ErdmaMatch *match)
{
	char mac[RDMAD_MAC_TEXT];
	const char *const names[] = { match->netdev, match->device, match->pci,
				      rdmad_mac_format(&match->mac, mac) };

	for (guint i = 0; i < settings->addresses->len; i++) {
		const ErdmaNicAddresses *entry = settings->addresses->pdata[i];

		if (erdma_nic_is_named(entry->nic, names, G_N_ELEMENTS(names)))
			return entry;
	}
	return NULL;
}

/* Link-local, failed and temporary addresses are no configuration. */
static gboolean is_usable(const RdmadAddress *address)
{
	return !rdmad_ip_is_link_local(&address->ip) &&
	       !(address->flags & (IFA_F_DADFAILED | IFA_F_TEMPORARY));
}

/* Returns the addresses that others have set, and the gateways of the interface. */
static ErdmaNicNetwork *network_of_link(const Planner *planner)
{
	const ErdmaView *view = planner->in->view;
	g_autoptr(ErdmaNicNetwork) network = erdma_nic_network_new(ERDMA_ADDRESS_NETDEV);

	for (guint i = 0; i < view->addresses->len; i++) {
		const RdmadAddress *address = view->addresses->pdata[i];

		if (address->ifindex == planner->link->ifindex && is_usable(address) &&
		    !erdma_nic_network_set(planner->in->done, &address->ip))
			g_array_append_val(network->addresses, address->ip);
	}
	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];
		RdmadIp *gateway = &network->gateway[route->family == AF_INET6];

		if (erdma_route_is_default(route) && !gateway->family &&
		    erdma_route_is_of(route, planner->link->ifindex))
			*gateway = route->hops[0].gateway;
	}
	return network->addresses->len ? g_steal_pointer(&network) : NULL;
}

static ErdmaNicNetwork *network_of_entry(const ErdmaNicAddresses *entry)
{
	ErdmaNicNetwork *network = erdma_nic_network_new(ERDMA_ADDRESS_STATIC);

	g_array_append_vals(network->addresses, entry->addresses->data, entry->addresses->len);
	memcpy(network->gateway, entry->gateway, sizeof(network->gateway));
	return network;
}

/* Adds a missing gateway from `other`, if it is in a network of the addresses. */
static void gateways_complete(ErdmaNicNetwork *network, const ErdmaNicNetwork *other)
{
	for (guint f = 0; other && f < G_N_ELEMENTS(network->gateway); f++)
		for (guint i = 0; i < network->addresses->len && !network->gateway[f].family; i++)
			if (rdmad_ip_in(&other->gateway[f],
					&g_array_index(network->addresses, RdmadIp, i)))
				network->gateway[f] = other->gateway[f];
}

static ErdmaNicNetwork *adopt(const Planner *planner, ErdmaNicNetwork *present)
{
	gateways_complete(present, planner->in->done);
	gateways_complete(present, planner->in->metadata);
	return present;
}

/* Returns NULL if no address is known, or `*ask` is set: the metadata service must be queried
 * first. */
static ErdmaNicNetwork *network_choose(const Planner *planner, ErdmaAddressFrom from, gboolean *ask)
{
	const ErdmaPlanInput *in = planner->in;
	const ErdmaNicNetwork *done = in->done;
	g_autoptr(ErdmaNicNetwork) present = network_of_link(planner);
	const gboolean set_before = done && done->from == ERDMA_ADDRESS_METADATA;
	const gboolean may_ask = from == ERDMA_ADDRESS_AUTO && !in->metadata_failed;

	if (from == ERDMA_ADDRESS_METADATA || (from == ERDMA_ADDRESS_AUTO && set_before)) {
		if (in->metadata)
			return erdma_nic_network_copy(in->metadata);
		if (set_before)
			return erdma_nic_network_copy(done);
		if (!in->metadata_failed) {
			*ask = TRUE;
			return NULL;
		}
	}
	if (present)
		return adopt(planner, g_steal_pointer(&present));
	if (from == ERDMA_ADDRESS_AUTO && in->metadata)
		return erdma_nic_network_copy(in->metadata);
	/* A static address is one of an entry that the configuration no longer has. */
	if (done && !(may_ask && done->from == ERDMA_ADDRESS_STATIC))
		return erdma_nic_network_copy(done);
	*ask = may_ask;
	return NULL;
}

static gboolean addresses_choose(Planner *planner)
{
	const ErdmaPlanInput *in = planner->in;
	const ErdmaNicAddresses *entry = erdma_nic_static(in->settings, in->match);
	const ErdmaAddressFrom from = (ErdmaAddressFrom)in->settings->address_from;
	ErdmaPlan *plan = planner->plan;
	gboolean ask = FALSE;

	if (entry && entry->addresses->len)
		plan->wanted = network_of_entry(entry);
	else if (from != ERDMA_ADDRESS_STATIC)
		plan->wanted = network_choose(planner, from, &ask);
	if (plan->wanted)
		return TRUE;
	plan->state = ask ? ERDMA_NIC_METADATA : ERDMA_NIC_REFUSED;
	plan->reason = g_strdup(
		ask ? "it has no address, and the metadata service is asked"
		: from == ERDMA_ADDRESS_STATIC ? "no entry of nics.addresses is for it"
		: in->metadata_failed ? "it has no address, and the metadata service gives none"
				      : "it has no address");
	return FALSE;
}

/* Terway leaves an interface that it uses in this state: up, with other addresses. */
static void metadata_compare(Planner *planner)
{
	const ErdmaNicNetwork *metadata = planner->in->metadata;
	const ErdmaNicNetwork *wanted = planner->plan->wanted;
	char text[RDMAD_IP_TEXT];

	if (!metadata || wanted->from != ERDMA_ADDRESS_NETDEV || !metadata->addresses->len ||
	    erdma_nic_network_has(wanted, &g_array_index(metadata->addresses, RdmadIp, 0)))
		return;
	planner->plan->note = g_strdup_printf(
		"it has not the address %s of the metadata service: if Terway uses it, exclude it "
		"there by an ENI filter",
		rdmad_ip_text(&g_array_index(metadata->addresses, RdmadIp, 0), TRUE, text));
}

/* ---- link and addresses ---- */

static guint mtu_wanted(const ErdmaPlanInput *in)
{
	const ErdmaNicAddresses *entry = erdma_nic_static(in->settings, in->match);

	if (entry && entry->mtu)
		return (guint)entry->mtu;
	return in->settings->jumbo == ERDMA_JUMBO_ON	? ERDMA_MTU_JUMBO
	       : in->settings->jumbo == ERDMA_JUMBO_OFF ? ERDMA_MTU_PLAIN
							: 0;
}

static void link_plan(Planner *planner)
{
	const RdmadLink *link = planner->link;
	const guint mtu = planner->plan->mtu;
	const gboolean other_mtu = mtu && mtu != link->mtu;
	RdmadStep *step;

	if (link->up && !other_mtu)
		return;
	step = erdma_plan_step(planner, RDMAD_STEP_LINK_SET);
	step->link.link = g_strdup(link->name);
	if (!link->up) {
		step->link.up = RDMAD_STEP_ON;
		step->link.up_before = RDMAD_STEP_OFF;
	}
	if (other_mtu) {
		step->link.mtu = mtu;
		step->link.mtu_before = link->mtu;
	}
}

static const RdmadAddress *address_find(const Planner *planner, const RdmadIp *ip)
{
	const GPtrArray *addresses = planner->in->view->addresses;

	for (guint i = 0; i < addresses->len; i++) {
		const RdmadAddress *address = addresses->pdata[i];

		if (address->ifindex == planner->link->ifindex && rdmad_ip_equal(&address->ip, ip))
			return address;
	}
	return NULL;
}

static gboolean address_add(Planner *planner, const RdmadIp *ip)
{
	const RdmadIp network = rdmad_ip_network(ip);
	RdmadStep *step;
	guint32 metric;

	if (!erdma_plan_metric(planner, &network, &metric))
		return FALSE;
	step = erdma_plan_step(planner, RDMAD_STEP_ADDRESS);
	step->address.link = g_strdup(planner->link->name);
	step->address.ip = *ip;
	step->address.metric = metric;
	return TRUE;
}

/* Plans the present addresses (before the link goes up, because that adds their routes), or the
 * missing ones. */
static gboolean addresses_plan(Planner *planner, gboolean present)
{
	const GArray *wanted = planner->plan->wanted->addresses;

	for (guint i = 0; i < wanted->len; i++) {
		const RdmadIp *ip = &g_array_index(wanted, RdmadIp, i);
		const RdmadAddress *address = address_find(planner, ip);

		if (present && address && !erdma_plan_prefix(planner, address))
			return FALSE;
		if (!present && !address && !address_add(planner, ip))
			return FALSE;
	}
	return TRUE;
}

/* Without this sysctl the kernel removes the other addresses of a network with its first one. */
static void promote_secondaries(Planner *planner)
{
	RdmadStep *step = erdma_plan_last(planner, RDMAD_STEP_SYSCTL);

	step->sysctl.path =
		g_strdup_printf("net/ipv4/conf/%s/promote_secondaries", planner->link->name);
	step->sysctl.value = g_strdup("1");
}

static void address_remove(Planner *planner, const RdmadIp *ip)
{
	RdmadStep *step;

	if (ip->family == AF_INET)
		promote_secondaries(planner);
	step = erdma_plan_last(planner, RDMAD_STEP_ADDRESS);
	step->address.link = g_strdup(planner->link->name);
	step->address.ip = *ip;
	step->address.remove = TRUE;
}

/* Removes the addresses that rdmad set and that are no longer configured. */
static void addresses_remove(Planner *planner)
{
	const GPtrArray *addresses = planner->in->view->addresses;

	for (guint i = 0; i < addresses->len; i++) {
		const RdmadAddress *address = addresses->pdata[i];

		if (address->ifindex == planner->link->ifindex &&
		    erdma_nic_network_set(planner->in->done, &address->ip) &&
		    !erdma_nic_network_has(planner->plan->wanted, &address->ip))
			address_remove(planner, &address->ip);
	}
}

/* ---- the plan ---- */

static gboolean steps_make(Planner *planner)
{
	if (!addresses_plan(planner, TRUE))
		return FALSE;
	link_plan(planner);
	if (!addresses_plan(planner, FALSE) || !erdma_plan_default(planner, AF_INET) ||
	    !erdma_plan_default(planner, AF_INET6))
		return FALSE;
	erdma_plan_policy(planner);
	addresses_remove(planner);
	while (planner->last->len)
		g_ptr_array_add(planner->plan->steps, g_ptr_array_steal_index(planner->last, 0));
	return TRUE;
}

static void plan_finish(Planner *planner)
{
	const ErdmaPlanInput *in = planner->in;
	ErdmaPlan *plan = planner->plan;

	plan->mtu = mtu_wanted(in);
	metadata_compare(planner);
	if (!steps_make(planner)) {
		g_ptr_array_set_size(plan->steps, 0);
		return;
	}
	if (plan->steps->len && in->done && in->done->complete && !in->settings->repair) {
		g_free(plan->note);
		plan->note = g_strdup("another program changed it, and nics.repair is false");
		g_ptr_array_set_size(plan->steps, 0);
	}
	plan->state = plan->steps->len ? ERDMA_NIC_CHANGES : ERDMA_NIC_READY;
}

ErdmaPlan *erdma_plan(const ErdmaPlanInput *input)
{
	ErdmaPlan *plan = g_new0(ErdmaPlan, 1);
	const RdmadLink *link = erdma_view_link(input->view, input->match->ifindex);
	g_autoptr(GPtrArray) last = rdmad_steps_new();
	Planner planner = { input, link, plan, last };

	plan->steps = rdmad_steps_new();
	if (!link && input->is_given) {
		plan->state = ERDMA_NIC_EXCLUDED;
		plan->reason = g_strdup("its interface is in a pod");
		return plan;
	}
	if (!link) {
		plan->state = ERDMA_NIC_REFUSED;
		plan->reason = g_strdup(input->match->problem ?: "its interface is gone");
		return plan;
	}
	plan->state = erdma_plan_owner(input, link, &plan->reason);
	if (plan->state == ERDMA_NIC_READY && addresses_choose(&planner))
		plan_finish(&planner);
	return plan;
}
