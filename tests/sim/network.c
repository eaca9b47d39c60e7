/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/if_addr.h>
#include <rdmad/step.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "disk.h"
#include "files.h"
#include "life.h"
#include "machine.h"

#define SLOTS	   24u /* files of namespaces, which are reused */
#define HOST_FIRST 3   /* index of the host's first NIC */
#define SOON_US	   (120 * SIM_S)

static const gint64 dies_in_us[] = { 1 * SIM_MS, 300 * SIM_MS, 4 * SIM_S };

static struct {
	Decisions *decisions;
	char *root;
	GPtrArray *all;	 /* of Netns, the host first */
	GPtrArray *nics; /* of NetworkLink, in their initial state, to compare with */
	Netns *entered;
	guint made;
	int next_index;
	gboolean refuses;
	gboolean is_elastic;
	guint bare, stale; /* masks of NICs */
} network;

/* ---- links ---- */

static void link_free(gpointer data)
{
	NetworkLink *link = data;

	g_ptr_array_unref(link->altnames);
	g_array_unref(link->addresses);
	g_array_unref(link->neighbours);
	g_hash_table_unref(link->sysctls);
	g_free(link->name);
	g_free(link->mac);
	g_free(link->permanent_mac);
	g_free(link);
}

static void sysctls_reset(NetworkLink *link)
{
	g_hash_table_remove_all(link->sysctls);
	g_hash_table_insert(link->sysctls, g_strdup("ipv4/rp_filter"), g_strdup("1"));
	g_hash_table_insert(link->sysctls, g_strdup("ipv4/arp_ignore"), g_strdup("0"));
	g_hash_table_insert(link->sysctls, g_strdup("ipv4/arp_announce"), g_strdup("0"));
	/* half-a-frame.trace needs the bytes of a database without it. */
	if (network.is_elastic)
		g_hash_table_insert(link->sysctls, g_strdup("ipv4/promote_secondaries"),
				    g_strdup("0"));
}

static NetworkLink *link_new(const char *kind, const char *name)
{
	NetworkLink *link = g_new0(NetworkLink, 1);

	link->kind = kind;
	link->name = g_strdup(name);
	link->nic = NETWORK_NICS;
	link->index = network.next_index++;
	link->mtu = 1500;
	link->altnames = g_ptr_array_new_with_free_func(g_free);
	link->addresses = g_array_new(FALSE, TRUE, sizeof(RdmadAddress));
	link->neighbours = g_array_new(FALSE, TRUE, sizeof(RdmadNeighbour));
	link->sysctls = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	sysctls_reset(link);
	return link;
}

NetworkLink *network_link_add(Netns *netns, const char *kind, const char *name)
{
	NetworkLink *link = link_new(kind, name);

	g_ptr_array_add(netns->links, link);
	return link;
}

static void link_disguise(Netns *netns, NetworkLink *nic)
{
	NetworkLink *other = network_link_add(netns, "veth", nic->name);

	other->mac = nic->mac;
	other->group = nic->group;
	other->mtu = nic->mtu;
	g_ptr_array_extend_and_steal(other->altnames, g_steal_pointer(&nic->altnames));
	nic->altnames = g_ptr_array_new_with_free_func(g_free);
	g_free(nic->name);
	nic->name = g_strdup_printf("mine%d", nic->index);
	nic->mac = g_strdup("02:00:00:00:00:aa");
	nic->group = 0;
}

void network_disguise(Netns *netns)
{
	const guint n = netns->links->len;

	for (guint i = 0; i < n; i++) {
		NetworkLink *link = netns->links->pdata[i];

		if (link->nic < NETWORK_NICS && link->group)
			link_disguise(netns, link);
	}
}

NetworkLink *network_link(const Netns *netns, const char *name)
{
	for (guint i = 0; i < netns->links->len; i++) {
		NetworkLink *link = netns->links->pdata[i];

		if (g_str_equal(link->name, name))
			return link;
		for (guint j = 0; j < link->altnames->len; j++)
			if (g_str_equal(link->altnames->pdata[j], name))
				return link;
	}
	return NULL;
}

NetworkLink *network_link_of_index(const Netns *netns, int index)
{
	for (guint i = 0; i < netns->links->len; i++)
		if (((NetworkLink *)netns->links->pdata[i])->index == index)
			return netns->links->pdata[i];
	return NULL;
}

gboolean network_name_is_taken(const Netns *netns, const NetworkLink *but, const char *name)
{
	const NetworkLink *link = network_link(netns, name);

	return link && link != but;
}

static void routes_lose(Netns *netns, const NetworkLink *link)
{
	for (guint i = netns->routes->len; i-- > 0;)
		if (g_array_index(netns->routes, RdmadRoute, i).hops[0].ifindex == link->index)
			g_array_remove_index(netns->routes, i);
}

/* ---- addresses ---- */

RdmadAddress *network_address_find(const NetworkLink *link, const RdmadIp *ip)
{
	for (guint i = 0; i < link->addresses->len; i++) {
		RdmadAddress *address = &g_array_index(link->addresses, RdmadAddress, i);

		if (rdmad_ip_equal(&address->ip, ip))
			return address;
	}
	return NULL;
}

/* Returns the first address of a network, whose others are secondary; NULL: there is none. */
static const RdmadAddress *address_first(const NetworkLink *link, const RdmadIp *in)
{
	for (guint i = 0; i < link->addresses->len; i++) {
		const RdmadAddress *address = &g_array_index(link->addresses, RdmadAddress, i);
		const RdmadIp of = rdmad_ip_network(&address->ip);

		if (rdmad_ip_equal(&of, in))
			return address;
	}
	return NULL;
}

/* Returns the index of the kernel's route to the network of an address; -1: there is none. */
static int network_route_find(const Netns *netns, const RdmadAddress *address)
{
	const RdmadIp to = rdmad_ip_network(&address->ip);

	for (guint i = 0; i < netns->routes->len; i++) {
		const RdmadRoute *route = &g_array_index(netns->routes, RdmadRoute, i);

		if (route->protocol == RDMAD_ROUTE_BY_KERNEL && rdmad_ip_equal(&route->to, &to) &&
		    route->hops[0].ifindex == address->ifindex && route->metric == address->metric)
			return (int)i;
	}
	return -1;
}

static void network_route_add(Netns *netns, const RdmadAddress *address)
{
	RdmadRoute route = { .family = address->ip.family,
			     .to = rdmad_ip_network(&address->ip),
			     .table = RDMAD_ROUTE_TABLE_MAIN,
			     .type = RDMAD_ROUTE_UNICAST,
			     .protocol = RDMAD_ROUTE_BY_KERNEL,
			     .scope = RDMAD_ROUTE_SCOPE_LINK,
			     .metric = address->metric,
			     .source = rdmad_ip_host(&address->ip),
			     .n_hops = 1 };

	route.hops[0].ifindex = address->ifindex;
	if (!(address->flags & IFA_F_NOPREFIXROUTE) && !address->peer.family &&
	    address->ip.prefix < rdmad_ip_bits(&address->ip) &&
	    network_route_find(netns, address) < 0)
		g_array_append_val(netns->routes, route);
}

static void network_route_remove(Netns *netns, const RdmadAddress *address)
{
	const int index = network_route_find(netns, address);

	if (index >= 0)
		g_array_remove_index(netns->routes, (guint)index);
}

static void networks_connect(Netns *netns, const NetworkLink *link)
{
	for (guint i = 0; link->up && i < link->addresses->len; i++) {
		const RdmadAddress *address = &g_array_index(link->addresses, RdmadAddress, i);
		const RdmadIp in = rdmad_ip_network(&address->ip);

		if (address_first(link, &in) == address)
			network_route_add(netns, address);
	}
}

void network_address_set(Netns *netns, NetworkLink *link, const RdmadAddress *address)
{
	RdmadAddress *old = network_address_find(link, &address->ip);

	if (!old) {
		g_array_append_vals(link->addresses, address, 1);
	} else if (old->metric != address->metric) {
		network_route_remove(netns, old);
		*old = *address;
	}
	networks_connect(netns, link);
}

/* The routes that have the address as their source are removed too. */
static void address_drop(Netns *netns, NetworkLink *link, const RdmadIp *ip)
{
	const RdmadAddress address = *network_address_find(link, ip);
	const RdmadIp source = rdmad_ip_host(ip);

	network_route_remove(netns, &address);
	for (guint i = netns->routes->len; i-- > 0;)
		if (rdmad_ip_equal(&g_array_index(netns->routes, RdmadRoute, i).source, &source))
			g_array_remove_index(netns->routes, i);
	for (guint i = link->addresses->len; i-- > 0;)
		if (rdmad_ip_equal(&g_array_index(link->addresses, RdmadAddress, i).ip, ip))
			g_array_remove_index(link->addresses, i);
}

static gboolean promotes_secondaries(const NetworkLink *link)
{
	const char *value = g_hash_table_lookup(link->sysctls, "ipv4/promote_secondaries");

	return g_strcmp0(value, "1") == 0;
}

/* The first address of a network takes the secondary ones with it, unless the next one becomes the
 * first. */
void network_address_remove(Netns *netns, NetworkLink *link, const RdmadIp *ip)
{
	const RdmadIp in = rdmad_ip_network(ip);
	const gboolean is_first = rdmad_ip_equal(&address_first(link, &in)->ip, ip);
	const RdmadIp removed = *ip;
	const RdmadAddress *next;

	address_drop(netns, link, &removed);
	while (is_first && !promotes_secondaries(link) && (next = address_first(link, &in))) {
		const RdmadIp secondary = next->ip;

		address_drop(netns, link, &secondary);
	}
	networks_connect(netns, link);
}

void network_link_set_up(Netns *netns, NetworkLink *link, gboolean up)
{
	link->up = up;
	if (up)
		networks_connect(netns, link);
	else
		routes_lose(netns, link);
}

void network_link_remove(Netns *netns, NetworkLink *link)
{
	routes_lose(netns, link);
	g_ptr_array_remove(netns->links, link);
	link_free(link);
}

void network_link_touched(NetworkLink *link)
{
	if (link->readdressed_us && (clock_now_us() - link->readdressed_us) % SIM_NIGHT < SOON_US)
		network.stale |= 1u << link->nic;
}

void network_link_move(Netns *from, NetworkLink *link, Netns *to)
{
	network_link_set_up(from, link, FALSE);
	g_array_set_size(link->addresses, 0);
	g_array_set_size(link->neighbours, 0);
	sysctls_reset(link);
	if (from == network_host())
		network_link_touched(link);
	g_ptr_array_remove(from->links, link);
	g_ptr_array_add(to->links, link);
	if (link->nic == NETWORK_NICS)
		return;
	machine_show_netdev(link->nic, to == network_host());
	life_hint_hardware();
}

/* ---- the host ---- */

RdmadIp network_ip(guint net, guint number, const char *host)
{
	g_autofree char *text = g_strdup_printf("10.%u.%u.%s", net, number, host);
	RdmadIp ip;

	g_assert_true(rdmad_ip_parse(text, &ip, NULL));
	return ip;
}

static void nic_set_up(Netns *host, NetworkLink *link, guint nic)
{
	RdmadAddress address = { .ifindex = link->index, .ip = network_ip(8, nic, "2/24") };
	RdmadNeighbour neighbour = { .ifindex = link->index,
				     .ip = network_ip(8, nic, "1"),
				     .mac = { 6, { 2, 0, 0, 0, 0, 1 } } };
	RdmadRoute route = { .family = address.ip.family,
			     .to = network_ip(80, nic, "0/24"),
			     .table = 254,
			     .type = 1,
			     .protocol = 4,
			     .n_hops = 1 };

	link->up = TRUE;
	network_address_set(host, link, &address);
	g_array_append_val(link->neighbours, neighbour);
	g_hash_table_insert(link->sysctls, g_strdup("ipv4/rp_filter"), g_strdup("2"));
	route.hops[0] =
		(RdmadRouteHop){ .gateway = network_ip(8, nic, "1"), .ifindex = link->index };
	g_array_append_val(host->routes, route);
}

static void primary_set_up(Netns *host, const NetworkLink *link)
{
	RdmadRoute route = { .family = AF_INET,
			     .table = RDMAD_ROUTE_TABLE_MAIN,
			     .type = RDMAD_ROUTE_UNICAST,
			     .protocol = 16, /* RTPROT_DHCP */
			     .metric = NETWORK_PRIMARY_METRIC,
			     .n_hops = 1 };

	route.hops[0] = (RdmadRouteHop){ .gateway = network_ip(8, link->nic, "253"),
					 .ifindex = link->index };
	g_array_append_val(host->routes, route);
}

static NetworkLink *nic_new(guint nic)
{
	g_autofree char *name = g_strdup_printf("eth%u", 1 + nic);
	NetworkLink *link = link_new(NULL, name);

	link->nic = nic;
	link->index = HOST_FIRST + (int)nic;
	link->mtu = 8500;
	link->mac = g_strdup_printf("00:16:3e:01:02:%02x", 0x0a + nic);
	link->permanent_mac = g_strdup(link->mac);
	g_ptr_array_add(link->altnames, g_strdup_printf("enp%us0", nic));
	return link;
}

static void host_set_up(Netns *host)
{
	for (guint nic = 0; nic < NETWORK_NICS; nic++) {
		NetworkLink *link = nic_new(nic);

		g_ptr_array_add(host->links, link);
		if (!(network.bare & 1u << nic))
			nic_set_up(host, link, nic);
		if (network.is_elastic && nic == NETWORK_PRIMARY)
			primary_set_up(host, link);
		machine_show_netdev(nic, TRUE);
	}
}

/* ---- namespaces ---- */

static char *slot_path(guint slot)
{
	return g_strdup_printf("%s/slot-%u", network.root, slot);
}

static void netns_free(gpointer data)
{
	Netns *netns = data;

	g_ptr_array_set_free_func(netns->links, link_free);
	g_ptr_array_unref(netns->links);
	g_array_unref(netns->routes);
	g_array_unref(netns->rules);
	g_free(netns->path);
	g_free(netns);
}

static gboolean slot_is_used(guint slot)
{
	for (guint i = 0; i < network.all->len; i++)
		if (((const Netns *)network.all->pdata[i])->slot == slot)
			return TRUE;
	return FALSE;
}

/* Takes `path` over. */
static Netns *netns_add(char *path)
{
	Netns *netns = g_new0(Netns, 1);
	g_autofree char *slot = NULL;
	TreeEntry *entry;

	while (slot_is_used(netns->slot))
		netns->slot++;
	g_assert_cmpuint(netns->slot, <, SLOTS);
	netns->path = path;
	netns->links = g_ptr_array_new();
	netns->routes = g_array_new(FALSE, TRUE, sizeof(RdmadRoute));
	netns->rules = g_array_new(FALSE, TRUE, sizeof(RdmadRule));
	netns->dies_us = G_MAXINT64;
	slot = slot_path(netns->slot);
	g_assert_cmpint(link(slot, path), ==, 0);
	g_assert_true(files_find_entry(AT_FDCWD, path, FALSE, &entry));
	netns->file = entry->file;
	g_ptr_array_add(network.all, netns);
	return netns;
}

Netns *network_netns_new(void)
{
	Netns *netns = netns_add(g_strdup_printf("%s/cni-%u", network.root, ++network.made));
	NetworkLink *eth0 = network_link_add(netns, "veth", "eth0");

	eth0->up = TRUE;
	eth0->mac = g_strdup("02:00:00:00:00:02");
	return netns;
}

void network_netns_remove(Netns *netns)
{
	unlink(netns->path);
	g_clear_pointer(&netns->path, g_free);
	netns->dies_us = clock_now_us() + dies_in_us[decide_rarely(network.decisions, DECIDE_KERNEL,
								   5, G_N_ELEMENTS(dies_in_us))];
}

/* Returns NICs under their own names, or under others if these are in use. */
static void netns_take_apart(Netns *netns)
{
	while (netns->links->len) {
		NetworkLink *link = netns->links->pdata[0];

		if (link->nic == NETWORK_NICS) {
			network_link_remove(netns, link);
			continue;
		}
		if (network_name_is_taken(network_host(), link, link->name)) {
			g_free(link->name);
			link->name = g_strdup_printf("dev%d", link->index);
		}
		network_link_move(netns, link, network_host());
	}
	g_ptr_array_remove(network.all, netns);
	netns_free(netns);
}

gint64 network_due_us(void)
{
	gint64 due_us = G_MAXINT64;

	for (guint i = 0; network.all && i < network.all->len; i++)
		due_us = MIN(due_us, ((const Netns *)network.all->pdata[i])->dies_us);
	return due_us;
}

void network_work(void)
{
	for (guint i = network.all->len; i-- > 0;) {
		Netns *netns = network.all->pdata[i];

		if (netns->dies_us > clock_now_us())
			continue;
		if (netns->file->opens)
			netns->dies_us = clock_now_us() + SIM_S;
		else
			netns_take_apart(netns);
	}
}

Netns *network_host(void)
{
	return network.all->pdata[0];
}

GPtrArray *network_all(void)
{
	return network.all;
}

Netns *network_of_fd(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	for (guint i = 0; i < network.all->len; i++) {
		Netns *netns = network.all->pdata[i];

		if (netns->file->number == st.st_ino)
			return netns;
	}
	return NULL;
}

void network_enter(Netns *netns)
{
	network.entered = netns;
}

Netns *network_entered(void)
{
	return network.entered ?: network_host();
}

/* ---- faults ---- */

void network_set_refusing(gboolean refuses)
{
	network.refuses = refuses;
}

gboolean network_refuses(void)
{
	return network.refuses && network_decide(2);
}

gboolean network_decide(guint rarity)
{
	return decide_rarely(network.decisions, DECIDE_KERNEL, rarity, 2) != 0;
}

/* ---- life cycle ---- */

static void all_free(void)
{
	for (guint i = 0; i < network.all->len; i++) {
		Netns *netns = network.all->pdata[i];

		if (netns->path)
			unlink(netns->path);
		netns_free(netns);
	}
	g_ptr_array_set_size(network.all, 0);
}

static void host_begin(void)
{
	network.entered = NULL;
	network.next_index = HOST_FIRST + (int)NETWORK_NICS;
	host_set_up(netns_add(g_build_filename(network.root, "host", NULL)));
}

void network_set_elastic(guint bare)
{
	network.is_elastic = TRUE;
	network.bare = bare;
	network_reboot();
}

gboolean network_is_elastic(void)
{
	return network.is_elastic;
}

void network_reboot(void)
{
	all_free();
	host_begin();
}

void network_begin(const char *root, Decisions *decisions)
{
	network.decisions = decisions;
	network.refuses = network.is_elastic = FALSE;
	network.made = network.bare = network.stale = 0;
	if (!network.root) {
		network.root = g_build_filename(root, "netns", NULL);
		g_mkdir_with_parents(network.root, 0755);
		for (guint slot = 0; slot < SLOTS; slot++) {
			g_autofree char *path = slot_path(slot);

			g_assert_true(g_file_set_contents(path, "", 0, NULL));
		}
	}
	network.all = g_ptr_array_new();
	host_begin();
	network.nics = g_ptr_array_new_with_free_func(link_free);
	for (guint nic = 0; nic < NETWORK_NICS; nic++)
		g_ptr_array_add(network.nics, nic_new(nic));
}

void network_end(void)
{
	all_free();
	g_clear_pointer(&network.all, g_ptr_array_unref);
	g_clear_pointer(&network.nics, g_ptr_array_unref);
}

/* ---- functions for the judge ---- */

const Netns *network_place_of_nic(guint nic)
{
	for (guint i = 0; i < network.all->len; i++)
		if (network_link_of_index(network.all->pdata[i], HOST_FIRST + (int)nic))
			return network.all->pdata[i];
	return NULL;
}

gboolean network_nic_is_stale(guint nic)
{
	return (network.stale & 1u << nic) != 0;
}

char *network_nic_mac(guint nic)
{
	return g_strdup(((const NetworkLink *)network.nics->pdata[nic])->permanent_mac);
}

NetworkLink *network_nic_on_host(guint nic)
{
	return network_link_of_index(network_host(), HOST_FIRST + (int)nic);
}

static gboolean has_its_route(const Netns *host, guint nic)
{
	const RdmadIp to = network_ip(80, nic, "0/24");

	for (guint i = 0; i < host->routes->len; i++) {
		const RdmadRoute *route = &g_array_index(host->routes, RdmadRoute, i);

		if (rdmad_ip_equal(&route->to, &to) &&
		    route->hops[0].ifindex == HOST_FIRST + (int)nic)
			return TRUE;
	}
	return FALSE;
}

static gboolean has_its_address(const NetworkLink *link)
{
	const RdmadIp ip = network_ip(8, link->nic, "2/24");

	return link->addresses->len == 1 &&
	       rdmad_ip_equal(&g_array_index(link->addresses, RdmadAddress, 0).ip, &ip);
}

/* Returns how the configuration of a NIC differs, which other programs keep too if it is
 * elastic. */
static char *configuration_differs(const NetworkLink *link)
{
	if (!link->up)
		return g_strdup("is down");
	if (!has_its_address(link))
		return g_strdup_printf("has %u addresses", link->addresses->len);
	if (!has_its_route(network_host(), link->nic))
		return g_strdup("has lost its route");
	if (link->neighbours->len != 1)
		return g_strdup("has lost its neighbour");
	if (!g_str_equal(g_hash_table_lookup(link->sysctls, "ipv4/rp_filter"), "2"))
		return g_strdup("has lost its rp_filter");
	return NULL;
}

char *network_nic_differs(guint nic)
{
	const NetworkLink *was = network.nics->pdata[nic];
	const NetworkLink *link = network_nic_on_host(nic);

	if (!link)
		return g_strdup("is not in the host");
	if (!g_str_equal(link->name, was->name))
		return g_strdup_printf("is called %s", link->name);
	if (!g_str_equal(link->mac, was->mac))
		return g_strdup_printf("has the address %s", link->mac);
	if (link->mtu != was->mtu)
		return g_strdup_printf("has the MTU %u", link->mtu);
	if (link->altnames->len != 1 ||
	    !g_str_equal(link->altnames->pdata[0], was->altnames->pdata[0]))
		return g_strdup("has lost its alternative name");
	return network.is_elastic && nic != NETWORK_PRIMARY ? NULL : configuration_differs(link);
}

guint network_links_made(const Netns *netns)
{
	return netns->links->len - 1;
}
