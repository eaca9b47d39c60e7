/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline of a CNI plugin: one process that makes the same changes as a shared NIC with an
 * address, or as an exclusive one with its own, and writes nothing down.
 *
 * usage: baseline-cni ADD|DEL NETNS NIC ADDRESS [exclusive]
 */
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/network.h>
#include <rdmad/step.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TABLE 1000

static gboolean network_make(RdmadNetwork *pod, int netns, int index, const RdmadIp *ip,
			     GError **error)
{
	static const RdmadSysctl sysctls[] = {
		{ "net/ipv4/conf/net1/arp_ignore", "1" },
		{ "net/ipv4/conf/net1/arp_announce", "2" },
		{ "net/ipv4/conf/net1/rp_filter", "2" },
	};
	const RdmadLinkChange up = { .up = 1 };
	const RdmadAddress address = { .ifindex = index, .ip = *ip };
	const RdmadRoute route = { .family = AF_INET,
				   .to = rdmad_ip_network(ip),
				   .table = TABLE,
				   .hops = { { .ifindex = index } },
				   .n_hops = 1 };
	const RdmadRule rule = {
		.family = AF_INET, .from = rdmad_ip_host(ip), .table = TABLE, .priority = 20000
	};

	return rdmad_sysctls_write(netns, sysctls, G_N_ELEMENTS(sysctls), error) &&
	       rdmad_address_add(pod, &address, error) &&
	       rdmad_link_change(pod, index, &up, error) && rdmad_route_add(pod, &route, error) &&
	       rdmad_rule_add(pod, &rule, error);
}

static gboolean add(int netns, const char *parent, const RdmadIp *ip, GError **error)
{
	g_autoptr(RdmadNetwork) host = rdmad_network_open(0, error);
	g_autoptr(RdmadNetwork) pod = host ? rdmad_network_open(netns, error) : NULL;
	g_autoptr(RdmadLink) nic = pod ? rdmad_link_get(host, parent, error) : NULL;
	g_autoptr(RdmadLink) made = NULL;
	RdmadLinkSpec spec = { .kind = "macvlan", .name = "net1", .netns = netns };

	if (!nic)
		return FALSE;
	spec.parent = nic->ifindex;
	if (!rdmad_link_create(host, &spec, error))
		return FALSE;
	made = rdmad_link_get(pod, "net1", error);
	return made && network_make(pod, netns, made->ifindex, ip, error);
}

static gboolean take_back(int netns, const RdmadIp *ip, GError **error)
{
	g_autoptr(RdmadNetwork) pod = rdmad_network_open(netns, error);
	g_autoptr(RdmadLink) made = pod ? rdmad_link_get(pod, "net1", error) : NULL;
	const RdmadRule rule = {
		.family = AF_INET, .from = rdmad_ip_host(ip), .table = TABLE, .priority = 20000
	};

	return made && rdmad_rule_delete(pod, &rule, error) &&
	       rdmad_links_delete(pod, &made->ifindex, 1, error);
}

static gboolean move_there(int netns, const char *name, const RdmadIp *ip, GError **error)
{
	const RdmadLinkChange move = { .name = "net1", .netns = netns };
	g_autoptr(RdmadNetwork) host = rdmad_network_open(0, error);
	g_autoptr(RdmadNetwork) pod = host ? rdmad_network_open(netns, error) : NULL;
	g_autoptr(RdmadLink) nic = pod ? rdmad_link_get(host, name, error) : NULL;
	g_autoptr(RdmadLink) moved = NULL;

	if (!nic || !rdmad_link_change(host, nic->ifindex, &move, error))
		return FALSE;
	moved = rdmad_link_get(pod, "net1", error);
	return moved && network_make(pod, netns, moved->ifindex, ip, error);
}

/* With its address alone: the rest of a NIC's configuration is recorded nowhere. */
static gboolean move_back(int netns, const char *name, const RdmadIp *ip, GError **error)
{
	rdmad_autofd int own = rdmad_netns_open_own(NULL, error);
	const RdmadLinkChange move = { .name = name, .netns = own }, up = { .up = 1 };
	g_autoptr(RdmadNetwork) host = rdmad_network_open(0, error);
	g_autoptr(RdmadNetwork) pod = host ? rdmad_network_open(netns, error) : NULL;
	g_autoptr(RdmadLink) nic = pod ? rdmad_link_get(pod, "net1", error) : NULL;
	g_autoptr(RdmadLink) moved = NULL;
	RdmadAddress address = { .ip = *ip };
	const RdmadRule rule = {
		.family = AF_INET, .from = rdmad_ip_host(ip), .table = TABLE, .priority = 20000
	};

	if (!nic || !rdmad_rule_delete(pod, &rule, error) ||
	    !rdmad_link_change(pod, nic->ifindex, &move, error))
		return FALSE;
	moved = rdmad_link_get(host, name, error);
	if (!moved)
		return FALSE;
	address.ifindex = moved->ifindex;
	return rdmad_address_add(host, &address, error) &&
	       rdmad_link_change(host, moved->ifindex, &up, error);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	rdmad_autofd int netns = -1;
	RdmadIp ip;
	gboolean ok;

	if (argc < 5 || !rdmad_ip_parse(argv[4], &ip, &error))
		return 2;
	netns = rdmad_netns_open(argv[2], NULL, &error);
	if (netns < 0)
		ok = FALSE;
	else if (argc > 5)
		ok = (g_str_equal(argv[1], "ADD") ? move_there : move_back)(netns, argv[3], &ip,
									    &error);
	else
		ok = g_str_equal(argv[1], "ADD") ? add(netns, argv[3], &ip, &error)
						 : take_back(netns, &ip, &error);
	if (!ok)
		fprintf(stderr, "baseline-cni: %s\n", error->message);
	return !ok;
}
