/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad's requests to the kernel about networks: replaces core/network (ld's --wrap) */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <rdmad/netns.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "events.h"
#include "executor.h"
#include "network.h"
#include "network/perform.h"
#include "plants.h"

/* A socket in a namespace, which may end before the socket. */
struct RdmadNetwork {
	Netns *netns;
	int errnum;
};

#define INSTEAD_OF(type, name, ...)                                                                \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

static gboolean fail(RdmadNetwork *net, int errnum, const char *what, GError **error)
{
	const RdmadError code = errnum == ENODEV || errnum == ENOENT || errnum == ESRCH
					? RDMAD_ERROR_NOT_FOUND
				: errnum == EEXIST || errnum == EBUSY ? RDMAD_ERROR_BUSY
								      : RDMAD_ERROR_FAILED;

	if (net)
		net->errnum = errnum;
	g_set_error(error, RDMAD_ERROR, code, "%s: %s", what, g_strerror(errnum));
	return FALSE;
}

/* Returns TRUE if the call must return `result` without an effect. */
static gboolean is_over(RdmadNetwork *net, const char *what, gboolean *result, GError **error)
{
	*result = TRUE;
	if (!executor_effect())
		return TRUE;
	*result = !network_refuses() || fail(net, ENOBUFS, what, error);
	if (*result && net && net->netns == network_host())
		network_host_changed();
	return !*result;
}

/* ---- namespaces ---- */

RdmadNetwork *network_handle(Netns *netns)
{
	RdmadNetwork *net = g_new0(RdmadNetwork, 1);

	net->netns = netns;
	return net;
}

INSTEAD_OF(RdmadNetwork *, rdmad_network_open, int netns, GError **error)
{
	return network_handle(netns ? network_of_fd(netns) : network_entered());
}

INSTEAD_OF(RdmadNetwork *, rdmad_network_adopt, int socket, GError **error)
{
	Netns *netns = network_of_fd(socket);

	close(socket);
	g_assert_nonnull(netns);
	return network_handle(netns);
}

INSTEAD_OF(void, rdmad_network_close, RdmadNetwork *net)
{
	g_free(net);
}

INSTEAD_OF(int, rdmad_network_errnum, const RdmadNetwork *net)
{
	return net->errnum;
}

INSTEAD_OF(gboolean, rdmad_netns_check, int fd, RdmadNetnsId *id, GError **error)
{
	const Netns *netns = network_of_fd(fd);
	struct stat st;

	if (!netns || netns == network_host() || fstat(fd, &st) < 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "no namespace of a pod");
		return FALSE;
	}
	if (id)
		*id = (RdmadNetnsId){ st.st_dev, st.st_ino };
	return TRUE;
}

INSTEAD_OF(int, rdmad_netns_open, const char *path, RdmadNetnsId *id, GError **error)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		const int errnum = errno;

		g_set_error(error, RDMAD_ERROR,
			    errnum == ENOENT ? RDMAD_ERROR_NOT_FOUND : RDMAD_ERROR_FAILED,
			    "cannot open the network namespace %s: %s", path, g_strerror(errnum));
		return -1;
	}
	if (__wrap_rdmad_netns_check(fd, id, error))
		return fd;
	close(fd);
	return -1;
}

INSTEAD_OF(int, rdmad_netns_open_own, RdmadNetnsId *id, GError **error)
{
	const int fd = open(network_host()->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		rdmad_error_errno(error, errno, "cannot open rdmad's own namespace");
		return -1;
	}
	if (id)
		*id = (RdmadNetnsId){ st.st_dev, st.st_ino };
	return fd;
}

/* ---- links ---- */

static RdmadLink *link_copy(const RdmadNetwork *net, const NetworkLink *from)
{
	RdmadLink *link = g_new0(RdmadLink, 1);

	link->ifindex = from->index;
	link->name = g_strdup(from->name);
	link->altnames = g_new0(char *, from->altnames->len + 1);
	for (guint i = 0; i < from->altnames->len; i++)
		link->altnames[i] = g_strdup(from->altnames->pdata[i]);
	link->kind = g_strdup(from->kind);
	link->parent_device =
		from->nic < NETWORK_NICS ? g_strdup_printf("0000:%02x:00.0", from->nic) : NULL;
	link->parent = from->parent;
	link->parent_netns = from->parent && net->netns != network_host() ? 0 : -1;
	link->mac = g_strdup(from->mac);
	link->permanent_mac = g_strdup(from->permanent_mac);
	link->mtu = from->mtu;
	link->up = from->up;
	link->group = from->group;
	link->flags = from->up ? IFF_UP | IFF_RUNNING : 0;
	link->carrier = from->up ? 1 : -1;
	link->carrier_changes = -1;
	return link;
}

static void link_free(gpointer link)
{
	rdmad_link_free(link);
}

INSTEAD_OF(GPtrArray *, rdmad_links_find, RdmadNetwork *net,
	   gboolean (*wanted)(const RdmadLink *link, gpointer data), gpointer data, GError **error)
{
	GPtrArray *links = g_ptr_array_new_with_free_func(link_free);

	network_work();
	for (guint i = 0; i < net->netns->links->len; i++) {
		RdmadLink *link = link_copy(net, net->netns->links->pdata[i]);

		if (!wanted || wanted(link, data))
			g_ptr_array_add(links, link);
		else
			rdmad_link_free(link);
	}
	return links;
}

INSTEAD_OF(GPtrArray *, rdmad_links_list, RdmadNetwork *net, GError **error)
{
	return __wrap_rdmad_links_find(net, NULL, NULL, error);
}

static RdmadLink *link_given(RdmadNetwork *net, const NetworkLink *link, GError **error)
{
	if (link)
		return link_copy(net, link);
	fail(net, ENODEV, "no such link", error);
	return NULL;
}

INSTEAD_OF(RdmadLink *, rdmad_link_get, RdmadNetwork *net, const char *name, GError **error)
{
	return link_given(net, network_link(net->netns, name), error);
}

INSTEAD_OF(RdmadLink *, rdmad_link_get_index, RdmadNetwork *net, int ifindex, GError **error)
{
	return link_given(net, network_link_of_index(net->netns, ifindex), error);
}

/* The kernel checks the name in both namespaces. */
INSTEAD_OF(gboolean, rdmad_link_create, RdmadNetwork *net, const RdmadLinkSpec *spec,
	   GError **error)
{
	Netns *to = spec->netns ? network_of_fd(spec->netns) : net->netns;
	NetworkLink *link;
	gboolean result;

	if (is_over(net, "cannot create a link", &result, error))
		return result;
	if (!network_link_of_index(net->netns, spec->parent))
		return fail(net, ENODEV, "no such parent", error);
	if (network_link(net->netns, spec->name) || network_link(to, spec->name))
		return fail(net, EEXIST, spec->name, error);
	link = network_link_add(to, g_intern_string(spec->kind), spec->name);
	link->parent = spec->parent;
	link->mac = g_strdup(spec->mac ?: "02:00:00:00:00:03");
	link->mtu = spec->mtu;
	return TRUE;
}

/* Up to kernel 6.18, a change that fails may still move the link under its old name. */
static gboolean link_move(RdmadNetwork *net, NetworkLink *link, const RdmadLinkChange *change,
			  GError **error)
{
	Netns *to = network_of_fd(change->netns);
	const char *name = change->name ?: link->name;
	const gboolean taken = network_name_is_taken(to, link, name);

	if (taken && (network_name_is_taken(to, link, link->name) || network_decide(2)))
		return fail(net, EEXIST, name, error);
	for (guint i = 0; i < link->altnames->len; i++)
		if (network_name_is_taken(to, link, link->altnames->pdata[i]))
			return fail(net, EEXIST, link->altnames->pdata[i], error);
	network_link_move(net->netns, link, to);
	if (taken)
		return fail(net, EEXIST, name, error);
	g_free(link->name);
	link->name = g_strdup(name);
	return TRUE;
}

static gboolean link_rename(RdmadNetwork *net, NetworkLink *link, const char *name, GError **error)
{
	if (link->up)
		return fail(net, EBUSY, "a link that is up", error);
	if (network_name_is_taken(net->netns, link, name))
		return fail(net, EEXIST, name, error);
	g_free(link->name);
	link->name = g_strdup(name);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_link_change, RdmadNetwork *net, int ifindex,
	   const RdmadLinkChange *change, GError **error)
{
	NetworkLink *link;
	gboolean result;

	if (is_over(net, "cannot change a link", &result, error))
		return result;
	link = network_link_of_index(net->netns, ifindex);
	if (!link)
		return fail(net, ENODEV, "no such link", error);
	if (change->mtu)
		link->mtu = change->mtu;
	if (change->mac) {
		g_free(link->mac);
		link->mac = g_strdup(change->mac);
	}
	if (change->up)
		network_link_set_up(net->netns, link, change->up > 0);
	if (change->netns && !link_move(net, link, change, error))
		return FALSE;
	if (change->group)
		link->group = *change->group;
	return change->netns || !change->name || g_str_equal(change->name, link->name) ||
	       link_rename(net, link, change->name, error);
}

INSTEAD_OF(gboolean, rdmad_link_set_altname, RdmadNetwork *net, int ifindex, const char *name,
	   gboolean there, GError **error)
{
	NetworkLink *link;
	guint index;
	gboolean result;

	if (is_over(net, "cannot change an alternative name", &result, error))
		return result;
	link = network_link_of_index(net->netns, ifindex);
	if (!link)
		return fail(net, ENODEV, "no such link", error);
	if (there && network_link(net->netns, name))
		return fail(net, EEXIST, name, error);
	if (there) {
		g_ptr_array_add(link->altnames, g_strdup(name));
		return TRUE;
	}
	if (!g_ptr_array_find_with_equal_func(link->altnames, name, g_str_equal, &index))
		return fail(net, ENOENT, name, error);
	g_ptr_array_remove_index(link->altnames, index);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_links_delete, RdmadNetwork *net, const int *ifindexes, guint n,
	   GError **error)
{
	gboolean result;

	if (is_over(net, "cannot delete links", &result, error))
		return result;
	for (guint i = 0; i < n; i++) {
		NetworkLink *link = network_link_of_index(net->netns, ifindexes[i]);

		if (link && link->nic < NETWORK_NICS)
			return fail(net, EOPNOTSUPP, "a NIC", error);
		if (link)
			network_link_remove(net->netns, link);
	}
	return TRUE;
}

/* ---- lists of plain values: addresses, neighbours, routes, rules ---- */

/* Appends the entries of one link, or of all (`ifindex` 0). */
static void list_append(GPtrArray *list, const GArray *entries, gsize size)
{
	for (guint i = 0; i < entries->len; i++)
		g_ptr_array_add(list, g_memdup2(entries->data + i * size, size));
}

static GPtrArray *list_of_links(const RdmadNetwork *net, int ifindex, gboolean neighbours)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < net->netns->links->len; i++) {
		const NetworkLink *link = net->netns->links->pdata[i];

		if (!ifindex || ifindex == link->index)
			list_append(list, neighbours ? link->neighbours : link->addresses,
				    neighbours ? sizeof(RdmadNeighbour) : sizeof(RdmadAddress));
	}
	return list;
}

INSTEAD_OF(GPtrArray *, rdmad_addresses_list, RdmadNetwork *net, int ifindex, GError **error)
{
	return list_of_links(net, ifindex, FALSE);
}

INSTEAD_OF(GPtrArray *, rdmad_neighbours_list, RdmadNetwork *net, int ifindex, GError **error)
{
	return list_of_links(net, ifindex, TRUE);
}

static void readdressed(const RdmadNetwork *net, NetworkLink *link)
{
	if (executor_is_for_host())
		link->readdressed_us = clock_now_us();
	else if (net->netns == network_host())
		network_link_touched(link);
}

INSTEAD_OF(gboolean, rdmad_address_replace, RdmadNetwork *net, const RdmadAddress *address,
	   GError **error)
{
	NetworkLink *link;
	gboolean result;

	if (is_over(net, "cannot add an address", &result, error))
		return result;
	link = network_link_of_index(net->netns, address->ifindex);
	if (!link)
		return fail(net, ENODEV, "no such link", error);
	network_address_set(net->netns, link, address);
	readdressed(net, link);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_address_delete, RdmadNetwork *net, const RdmadAddress *address,
	   GError **error)
{
	NetworkLink *link;
	gboolean result;

	if (is_over(net, "cannot delete an address", &result, error))
		return result;
	link = network_link_of_index(net->netns, address->ifindex);
	if (!link || !network_address_find(link, &address->ip))
		return fail(net, EADDRNOTAVAIL, "no such address", error);
	network_address_remove(net->netns, link, &address->ip);
	readdressed(net, link);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_neighbour_replace, RdmadNetwork *net, int ifindex, const RdmadIp *ip,
	   const char *mac, GError **error)
{
	RdmadNeighbour neighbour = { .ifindex = ifindex, .ip = *ip };
	NetworkLink *link;
	gboolean result;

	if (is_over(net, "cannot set a neighbour", &result, error))
		return result;
	link = network_link_of_index(net->netns, ifindex);
	if (!link)
		return fail(net, ENODEV, "no such link", error);
	for (guint i = link->neighbours->len; i-- > 0;)
		if (rdmad_ip_equal(&g_array_index(link->neighbours, RdmadNeighbour, i).ip, ip))
			g_array_remove_index(link->neighbours, i);
	rdmad_mac_parse(mac, &neighbour.mac);
	g_array_append_val(link->neighbours, neighbour);
	return TRUE;
}

static guint table_of(const RdmadRoute *route)
{
	return route->table ?: 254;
}

/* Two routes with these attributes cannot both be added. */
static gboolean route_is(const RdmadRoute *a, const RdmadRoute *b)
{
	return a->family == b->family && rdmad_ip_equal(&a->to, &b->to) &&
	       table_of(a) == table_of(b) && a->metric == b->metric;
}

/* A route that is deleted must have all attributes that the request names. */
static gboolean route_matches(const RdmadRoute *route, const RdmadRoute *asked)
{
	return route_is(route, asked) && (!asked->protocol || asked->protocol == route->protocol) &&
	       (!asked->n_hops || asked->hops[0].ifindex == route->hops[0].ifindex) &&
	       (!rdmad_ip_is_set(&asked->hops[0].gateway) ||
		rdmad_ip_equal(&asked->hops[0].gateway, &route->hops[0].gateway));
}

static int route_find(const Netns *netns, const RdmadRoute *route,
		      gboolean (*is)(const RdmadRoute *one, const RdmadRoute *other))
{
	for (guint i = 0; i < netns->routes->len; i++)
		if (is(&g_array_index(netns->routes, RdmadRoute, i), route))
			return (int)i;
	return -1;
}

/* A gateway must be in a network of the link. */
static gboolean gateway_is_reachable(const Netns *netns, const RdmadRoute *route)
{
	const RdmadRouteHop *hop = &route->hops[0];

	if (!rdmad_ip_is_set(&hop->gateway) || hop->onlink)
		return TRUE;
	for (guint i = 0; i < netns->routes->len; i++) {
		const RdmadRoute *other = &g_array_index(netns->routes, RdmadRoute, i);

		if (other->hops[0].ifindex == hop->ifindex &&
		    !rdmad_ip_is_set(&other->hops[0].gateway) &&
		    rdmad_ip_in(&hop->gateway, &other->to))
			return TRUE;
	}
	return FALSE;
}

static gboolean family_is_asked(int asked, int family)
{
	return asked == AF_UNSPEC || asked == family;
}

INSTEAD_OF(GPtrArray *, rdmad_routes_list, RdmadNetwork *net, int family, guint table, int ifindex,
	   GError **error)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < net->netns->routes->len; i++) {
		const RdmadRoute *route = &g_array_index(net->netns->routes, RdmadRoute, i);

		if (family_is_asked(family, route->family) &&
		    (!table || table == table_of(route)) &&
		    (!ifindex || ifindex == route->hops[0].ifindex))
			g_ptr_array_add(list, g_memdup2(route, sizeof(*route)));
	}
	return list;
}

typedef enum { ROUTE_ADD, ROUTE_APPEND, ROUTE_REPLACE } RouteVerb;

static gboolean route_set(RdmadNetwork *net, const RdmadRoute *route, RouteVerb verb,
			  GError **error)
{
	const NetworkLink *link =
		route->n_hops ? network_link_of_index(net->netns, route->hops[0].ifindex) : NULL;
	RdmadRoute made = *route;
	gboolean result;
	int index;

	if (is_over(net, "cannot add a route", &result, error))
		return result;
	if (route->n_hops && !link)
		return fail(net, ENODEV, "no such link", error);
	if (link && !link->up)
		return fail(net, ENETDOWN, "the link is down", error);
	if (!gateway_is_reachable(net->netns, route))
		return fail(net, ENETUNREACH, "the gateway is not on the link", error);
	index = route_find(net->netns, route, verb == ROUTE_APPEND ? route_matches : route_is);
	if (index >= 0 && verb != ROUTE_REPLACE)
		return fail(net, EEXIST, "the route is there", error);
	if (index >= 0)
		g_array_remove_index(net->netns->routes, (guint)index);
	made.table = table_of(route);
	g_array_append_val(net->netns->routes, made);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_route_add, RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_set(net, route, ROUTE_ADD, error);
}

INSTEAD_OF(gboolean, rdmad_route_append, RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_set(net, route, ROUTE_APPEND, error);
}

INSTEAD_OF(gboolean, rdmad_route_replace, RdmadNetwork *net, const RdmadRoute *route,
	   GError **error)
{
	return route_set(net, route, ROUTE_REPLACE, error);
}

INSTEAD_OF(gboolean, rdmad_route_delete, RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	gboolean result;
	int index;

	if (is_over(net, "cannot delete a route", &result, error))
		return result;
	index = route_find(net->netns, route, route_matches);
	if (index < 0)
		return fail(net, ESRCH, "no such route", error);
	g_array_remove_index(net->netns->routes, (guint)index);
	return TRUE;
}

static int rule_find(const Netns *netns, const RdmadRule *rule)
{
	for (guint i = 0; i < netns->rules->len; i++) {
		const RdmadRule *other = &g_array_index(netns->rules, RdmadRule, i);

		if (other->family == rule->family && other->priority == rule->priority &&
		    other->table == rule->table && rdmad_ip_equal(&other->from, &rule->from) &&
		    rdmad_ip_equal(&other->to, &rule->to) && g_str_equal(other->iif, rule->iif) &&
		    g_str_equal(other->oif, rule->oif))
			return (int)i;
	}
	return -1;
}

INSTEAD_OF(GPtrArray *, rdmad_rules_list, RdmadNetwork *net, int family, GError **error)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < net->netns->rules->len; i++)
		if (family_is_asked(family, g_array_index(net->netns->rules, RdmadRule, i).family))
			g_ptr_array_add(list,
					g_memdup2(&g_array_index(net->netns->rules, RdmadRule, i),
						  sizeof(RdmadRule)));
	return list;
}

INSTEAD_OF(gboolean, rdmad_rule_add, RdmadNetwork *net, const RdmadRule *rule, GError **error)
{
	gboolean result;

	if (is_over(net, "cannot add a rule", &result, error))
		return result;
	if (rule_find(net->netns, rule) >= 0)
		return fail(net, EEXIST, "the rule is there", error);
	g_array_append_vals(net->netns->rules, rule, 1);
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_rule_delete, RdmadNetwork *net, const RdmadRule *rule, GError **error)
{
	gboolean result;
	int index;

	if (is_over(net, "cannot delete a rule", &result, error))
		return result;
	index = rule_find(net->netns, rule);
	if (index < 0)
		return fail(net, ENOENT, "no such rule", error);
	g_array_remove_index(net->netns->rules, (guint)index);
	return TRUE;
}

/* ---- the watch of the host ---- */

struct RdmadNetworkWatch {
	int fd;
	RdmadEvent *event;
	void (*hint)(gpointer data);
	gpointer data;
};

static RdmadNetworkWatch *watch; /* of this life; module erdma has the only one */

void network_host_changed(void)
{
	if (watch && !plant_skips_change())
		event_tell(watch->fd);
}

static void watch_told(int fd, RdmadIo ready, gpointer data)
{
	event_take(fd);
	watch->hint(watch->data);
}

INSTEAD_OF(RdmadNetworkWatch *, rdmad_network_watch_new, RdmadLoop *loop, RdmadModule *owner,
	   void (*hint)(gpointer data), gpointer data, GError **error)
{
	g_assert_null(watch);
	watch = g_new(RdmadNetworkWatch, 1);
	*watch = (RdmadNetworkWatch){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), NULL, hint, data };
	watch->event =
		rdmad_loop_add_io(loop, owner, watch->fd, RDMAD_IO_READ, watch_told, NULL, error);
	g_assert_nonnull(watch->event);
	return watch;
}

INSTEAD_OF(void, rdmad_network_watch_free, RdmadNetworkWatch *ended)
{
	if (!ended)
		return;
	rdmad_event_free(ended->event);
	close(ended->fd);
	g_clear_pointer(&watch, g_free);
}

/* ---- sysctls ---- */

/* Returns the link of "net/ipv4/conf/eth1/rp_filter", and its key "ipv4/rp_filter" (g_free()). */
static NetworkLink *sysctl_find(int netns, const char *name, char **key)
{
	const Netns *in = netns ? network_of_fd(netns) : network_entered();
	g_auto(GStrv) parts = g_strsplit(name, "/", 5);

	*key = NULL;
	if (g_strv_length(parts) < 4 || !g_str_equal(parts[2], "conf"))
		return NULL;
	*key = parts[4] ? g_strconcat(parts[1], "/", parts[4], NULL) : g_strdup(parts[1]);
	return network_link(in, parts[3]);
}

static gboolean sysctl_write(int netns, const RdmadSysctl *sysctl, GError **error)
{
	g_autofree char *key = NULL;
	NetworkLink *link = sysctl_find(netns, sysctl->name, &key);
	gboolean result;

	if (is_over(NULL, sysctl->name, &result, error))
		return result;
	if (!link || !g_hash_table_contains(link->sysctls, key))
		return fail(NULL, ENOENT, sysctl->name, error);
	g_hash_table_replace(link->sysctls, g_steal_pointer(&key), g_strdup(sysctl->value));
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_sysctls_write, int netns, const RdmadSysctl *sysctls, guint n,
	   GError **error)
{
	for (guint i = 0; i < n; i++)
		if (!sysctl_write(netns, &sysctls[i], error))
			return FALSE;
	return TRUE;
}

INSTEAD_OF(gboolean, rdmad_sysctls_restore, int netns, const RdmadSysctl *sysctls, guint n,
	   GError **error)
{
	for (guint i = 0; i < n; i++) {
		GError *why = NULL;

		if (sysctl_write(netns, &sysctls[i], &why) ||
		    perform_forgive(&why, RDMAD_ERROR_NOT_FOUND))
			continue;
		g_propagate_error(error, why);
		return FALSE;
	}
	return TRUE;
}

INSTEAD_OF(char **, rdmad_sysctls_list, int netns, const char *directory, GError **error)
{
	g_autofree char *family = NULL;
	const NetworkLink *link = sysctl_find(netns, directory, &family);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autoptr(GList) keys = link ? g_hash_table_get_keys(link->sysctls) : NULL;

	if (!link || !g_str_equal(family, "ipv4")) {
		fail(NULL, ENOENT, directory, error);
		return NULL;
	}
	for (const GList *l = keys; l; l = l->next)
		g_strv_builder_add(names, strchr(l->data, '/') + 1);
	return g_strv_builder_end(names);
}

INSTEAD_OF(char *, rdmad_sysctl_read, int netns, const char *name, GError **error)
{
	g_autofree char *key = NULL;
	const NetworkLink *link = sysctl_find(netns, name, &key);
	const char *value = link ? g_hash_table_lookup(link->sysctls, key) : NULL;

	if (!value)
		fail(NULL, ENOENT, name, error);
	return g_strdup(value);
}

/* ---- RDMA: devices do not move ---- */

INSTEAD_OF(const char *, rdmad_rdma_netns_mode, GError **error)
{
	return "shared";
}

INSTEAD_OF(gboolean, perform_announce, RdmadNetwork *net, const RdmadStepAnnounce *announce,
	   GError **error)
{
	gboolean result;

	is_over(net, "cannot announce", &result, error);
	return result;
}

INSTEAD_OF(gboolean, perform_wait_gid, const PerformContext *ctx, RdmadStepPlace where,
	   const RdmadStepWaitGid *gid, int *index, GError **error)
{
	*index = 1;
	if (!network_decide(30))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT, "not within %u ms", gid->timeout_ms);
	return FALSE;
}

INSTEAD_OF(gboolean, perform_bind, const PerformContext *ctx, const RdmadStepRdmaBind *bind,
	   GError **error)
{
	return !network_decide(60) || fail(NULL, EADDRNOTAVAIL, "RDMA_CM finds none", error);
}
