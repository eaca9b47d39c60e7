/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <linux/if_ether.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <rdmad/network.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#define RP_FILTER "net/ipv4/conf/all/rp_filter"
#define IPV6_OFF  "net/ipv6/conf/default/disable_ipv6" /* a value of "all" is also this one's */

#define CAPACITIES_MAX 256u /* then the cache is emptied: devices come and go */

/* With a limit, the first of many ADDs run their steps before the last looks start, and are
 * answered earlier. */
#define LOOKS_MAX 8u

typedef struct {
	char *name, *pci, *pf; /* pf NULL: not a virtual function */
	guint vf;
	gboolean moves;
	char *gids;	/* directory of its GID table; NULL: none, or it moves */
	guint capacity; /* size of that table; 0: not counted yet */
} LookNic;

/* The input of the worker thread. */
typedef struct {
	const RdmadSysroot *root;
	int pod, rp_filter, ipv6_off; /* from rdmad_executor_open() */
	GArray *nics;		      /* of LookNic */
	gboolean with_mode;
} Looking;

struct CniLooking {
	Cni *cni;
	int netns; /* of the pod, owned by the caller */
	gboolean is_queued;
	guint64 opening; /* 0: done, or queued */
	RdmadJob *job;	 /* NULL: not submitted */
	Looking *input;	 /* NULL: owned by the job */
	/* Of char *: the key of each NIC's GID table, its directory and the device's index; NULL:
	 * none. */
	GPtrArray *tables;
	CniLooked done;
	gpointer data;
};

static void nic_clear(gpointer data)
{
	LookNic *nic = data;

	g_free(nic->name);
	g_free(nic->pci);
	g_free(nic->pf);
	g_free(nic->gids);
}

static void input_free(gpointer data)
{
	Looking *looking = data;

	if (!looking)
		return;
	rdmad_clear_fd(&looking->pod);
	rdmad_clear_fd(&looking->rp_filter);
	rdmad_clear_fd(&looking->ipv6_off);
	g_array_unref(looking->nics);
	g_free(looking);
}

void cni_look_free(gpointer data)
{
	CniLook *look = data;

	if (!look)
		return;
	cni_view_free(look->host);
	cni_view_free(look->pod);
	if (look->gid_capacities)
		g_array_unref(look->gid_capacities);
	g_free(look);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniLook, cni_look_free)

/* ---- links ---- */

static void link_add(CniView *view, const RdmadLink *from)
{
	CniViewLink link = {
		.index = (guint32)from->ifindex,
		.name = g_strdup(from->name),
		.altnames = g_strdupv(from->altnames),
		.kind = g_strdup(from->kind),
		.parent = (guint32)rdmad_link_below(from),
		.peer = from->parent_netns < 0 && from->parent != from->ifindex
				? (guint32)from->parent
				: 0,
		.master = (guint32)from->master,
		.mtu = from->mtu,
		.max_mtu = from->max_mtu,
		.up = from->up,
		.flags = from->flags,
		.link_mode = from->link_mode,
		.xdp = from->xdp,
		.group = from->group,
		.parent_device = g_strdup(from->parent_device),
	};

	rdmad_mac_parse(from->mac, &link.mac);
	rdmad_mac_parse(from->permanent_mac, &link.permanent_mac);
	g_array_append_val(view->links, link);
}

static gboolean links_look(RdmadNetwork *net, CniView *view, GError **error)
{
	g_autoptr(GPtrArray) links = rdmad_links_list(net, error);

	for (guint i = 0; links && i < links->len; i++)
		link_add(view, links->pdata[i]);
	return links != NULL;
}

static const char *name_of(const CniView *view, int index)
{
	for (guint i = 0; i < view->links->len; i++)
		if (g_array_index(view->links, CniViewLink, i).index == (guint32)index)
			return g_array_index(view->links, CniViewLink, i).name;
	return NULL;
}

/* ---- addresses, routes, rules ---- */

static gboolean addresses_look(RdmadNetwork *net, CniView *view, int index, GError **error)
{
	g_autoptr(GPtrArray) all = rdmad_addresses_list(net, index, error);

	for (guint i = 0; all && i < all->len; i++) {
		const RdmadAddress *from = all->pdata[i];
		const RdmadStepAddress address = {
			.link = g_strdup(name_of(view, from->ifindex)),
			.ip = from->ip,
			.peer = from->peer,
			.broadcast = from->broadcast,
			.flags = from->flags,
			.metric = from->metric,
			.scope = from->scope,
			.label = from->label[0] ? g_strdup(from->label) : NULL,
			.valid_s = from->valid_s,
			.preferred_s = from->preferred_s,
		};

		g_array_append_val(view->addresses, address);
	}
	return all != NULL;
}

static gboolean neighbours_look(RdmadNetwork *net, CniView *view, int index, GError **error)
{
	g_autoptr(GPtrArray) all = rdmad_neighbours_list(net, index, error);

	for (guint i = 0; all && i < all->len; i++) {
		const RdmadNeighbour *from = all->pdata[i];
		const RdmadStepNeighbour neighbour = {
			.link = g_strdup(name_of(view, from->ifindex)),
			.ip = from->ip,
			.mac = from->mac,
		};

		g_array_append_val(view->neighbours, neighbour);
	}
	return all != NULL;
}

/* Adds the hop over the link `index`, or the first one. */
static void route_add(CniView *view, const RdmadRoute *from, int index)
{
	const RdmadRouteHop *hop = from->hops;
	CniViewRoute route = {
		.route = { .to = from->to,
			   .source = from->source,
			   .table = from->table,
			   .metric = from->metric,
			   .scope = from->scope,
			   .type = from->type,
			   .protocol = from->protocol,
			   .mtu = from->mtu,
			   .advmss = from->advmss },
		.hops = from->n_hops,
		.partial = from->partial,
	};

	route.route.to.family = from->family;
	for (guint i = 1; i < from->n_hops && hop->ifindex != index; i++)
		if (from->hops[i].ifindex == index)
			hop = &from->hops[i];
	if (from->n_hops) {
		route.route.link = g_strdup(name_of(view, hop->ifindex));
		route.route.gateway = hop->gateway;
		route.route.onlink = hop->onlink;
	}
	g_array_append_val(view->routes, route);
}

static gboolean routes_look(RdmadNetwork *net, CniView *view, int index, GError **error)
{
	g_autoptr(GPtrArray) all = rdmad_routes_list(net, AF_UNSPEC, 0, index, error);

	for (guint i = 0; all && i < all->len; i++)
		route_add(view, all->pdata[i], index);
	return all != NULL;
}

static gboolean rules_look(RdmadNetwork *net, CniView *view, GError **error)
{
	g_autoptr(GPtrArray) all = rdmad_rules_list(net, AF_UNSPEC, error);

	for (guint i = 0; all && i < all->len; i++) {
		const RdmadRule *from = all->pdata[i];
		const RdmadStepRule rule = { .family = from->family,
					     .priority = from->priority,
					     .table = from->table,
					     .from = from->from,
					     .to = from->to };

		g_array_append_val(view->rules, rule);
	}
	return all != NULL;
}

/* ---- sysctls ---- */

static void sysctl_add(CniView *view, const char *path, char *value)
{
	const RdmadStepSysctl sysctl = { .path = g_strdup(path), .value = value };

	g_array_append_val(view->sysctls, sysctl);
}

static gboolean sysctl_look(CniView *view, const char *path, GError **error)
{
	GError *why = NULL;
	char *value = rdmad_sysctl_read(0, path, &why);

	if (value)
		sysctl_add(view, path, value);
	if (value || g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_clear_error(&why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

/* Excludes the sysctls that cannot be written back: those without a plain value, the MTU, which
 * belongs to the link, and the values in seconds, which exist in milliseconds, too. */
static gboolean sysctl_is_kept(const char *key)
{
	static const char *const others[] = { "mc_forwarding", "mtu", "base_reachable_time",
					      "retrans_time", NULL };

	return !g_strv_contains(others, key);
}

static gboolean directory_look(CniView *view, const char *directory, GError **error)
{
	GError *why = NULL;
	g_auto(GStrv) keys = rdmad_sysctls_list(0, directory, &why);

	if (g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_error_free(why);
		return TRUE;
	}
	for (char **key = keys; key && *key; key++) {
		g_autofree char *path = g_build_filename(directory, *key, NULL);

		if (sysctl_is_kept(*key) && !sysctl_look(view, path, error))
			return FALSE;
	}
	if (why)
		g_propagate_error(error, why);
	return keys != NULL;
}

/* A link loses all its sysctls when it changes its namespace. */
static gboolean nic_sysctls_look(CniView *view, const char *name, GError **error)
{
	static const char *const directories[] = { "net/ipv4/conf", "net/ipv6/conf",
						   "net/ipv4/neigh", "net/ipv6/neigh" };

	for (guint i = 0; i < G_N_ELEMENTS(directories); i++) {
		g_autofree char *directory = g_build_filename(directories[i], name, NULL);

		if (!directory_look(view, directory, error))
			return FALSE;
	}
	return TRUE;
}

/* ---- virtual functions ---- */

/* A driver is assumed to support setting each attribute that it reports. */
static RdmadVfState vf_state(const RdmadVf *vf)
{
	RdmadVfState state = {
		.set = RDMAD_STEP_VF_MAC | RDMAD_STEP_VF_VLAN | RDMAD_STEP_VF_RATE |
		       RDMAD_STEP_VF_GUIDS,
		.vlan = vf->vlan,
		.qos = vf->qos,
		.vlan_protocol = vf->is_8021ad ? ETH_P_8021AD : ETH_P_8021Q,
		.spoof_check = vf->spoofchk > 0,
		.trust = vf->trust > 0,
		.min_rate = vf->min_rate,
		.max_rate = vf->max_rate,
		.link_state = vf->link_state > 0 ? (guint32)vf->link_state : 0,
		.node_guid = vf->node_guid,
		.port_guid = vf->port_guid,
	};

	state.set |= vf->spoofchk >= 0 ? RDMAD_STEP_VF_SPOOF_CHECK : 0;
	state.set |= vf->trust >= 0 ? RDMAD_STEP_VF_TRUST : 0;
	state.set |= vf->link_state >= 0 ? RDMAD_STEP_VF_LINK_STATE : 0;
	rdmad_mac_parse(vf->mac ? vf->mac : "", &state.mac);
	return state;
}

static gboolean vf_look(RdmadNetwork *net, CniView *view, const LookNic *nic, GError **error)
{
	g_autoptr(RdmadLink) pf = rdmad_link_get(net, nic->pf, error);

	for (guint i = 0; pf && i < pf->n_vfs; i++) {
		if (pf->vfs[i].number == nic->vf) {
			const CniViewVf vf = { .pf_index = (guint32)pf->ifindex,
					       .pf = g_strdup(pf->name),
					       .vf = nic->vf,
					       .pci = g_strdup(nic->pci),
					       .state = vf_state(&pf->vfs[i]) };

			g_array_append_val(view->vfs, vf);
		}
	}
	return pf != NULL;
}

/* ---- host and pod ---- */

static gboolean nic_look(RdmadNetwork *net, CniView *view, const LookNic *nic, GError **error)
{
	CniViewLink *link = (CniViewLink *)cni_view_link(view, nic->name);
	const int index = link ? (int)link->index : 0;

	/* The plan reports the missing interface. */
	if (!link)
		return TRUE;
	/* Two slots of one device have one link. */
	g_free(link->pci);
	link->pci = g_strdup(nic->pci);
	link->moves = nic->moves;
	return addresses_look(net, view, index, error) && routes_look(net, view, index, error) &&
	       (!nic->moves || (neighbours_look(net, view, index, error) &&
				nic_sysctls_look(view, nic->name, error))) &&
	       (!nic->pf || vf_look(net, view, nic, error));
}

static gboolean is_looked_at(const Looking *looking, const char *link)
{
	for (guint i = 0; i < looking->nics->len; i++)
		if (g_strcmp0(g_array_index(looking->nics, LookNic, i).name, link) == 0)
			return TRUE;
	return FALSE;
}

/* Adds the default routes of other links, if a NIC has one: the plan compares them. */
static gboolean defaults_look(const Looking *looking, RdmadNetwork *net, CniView *view,
			      GError **error)
{
	g_autoptr(GPtrArray) all = NULL;

	if (!cni_view_has_default_route(view, AF_INET) &&
	    !cni_view_has_default_route(view, AF_INET6))
		return TRUE;
	all = rdmad_routes_list(net, AF_UNSPEC, RDMAD_ROUTE_TABLE_MAIN, 0, error);
	for (guint i = 0; all && i < all->len; i++) {
		const RdmadRoute *route = all->pdata[i];

		for (guint hop = 0; route->to.prefix == 0 && hop < route->n_hops; hop++)
			if (!is_looked_at(looking, name_of(view, route->hops[hop].ifindex)))
				route_add(view, route, route->hops[hop].ifindex);
	}
	return all != NULL;
}

static gboolean host_look(const Looking *looking, CniView *view, GError **error)
{
	g_autoptr(RdmadNetwork) net = rdmad_network_open(0, error);

	if (!net || !links_look(net, view, error))
		return FALSE;
	for (guint i = 0; i < looking->nics->len; i++)
		if (!nic_look(net, view, &g_array_index(looking->nics, LookNic, i), error))
			return FALSE;
	return defaults_look(looking, net, view, error);
}

static gboolean sysctl_look_opened(int fd, const char *path, CniView *view, GError **error)
{
	char *value = fd < 0 ? NULL : rdmad_sysctl_read_fd(fd, error);

	if (value)
		sysctl_add(view, path, value);
	return value || fd < 0;
}

/* The sysctls of a container may be mounted read-only; a kernel without IPv6 has none. */
static gboolean is_writable(int fd)
{
	struct statvfs fs;

	return fd >= 0 && fstatvfs(fd, &fs) == 0 && !(fs.f_flag & ST_RDONLY);
}

static gboolean pod_look(Looking *looking, CniView *view, GError **error)
{
	g_autoptr(RdmadNetwork) net = rdmad_network_adopt(rdmad_steal_fd(&looking->pod), error);

	return net && links_look(net, view, error) && addresses_look(net, view, 0, error) &&
	       routes_look(net, view, 0, error) && rules_look(net, view, error) &&
	       sysctl_look_opened(looking->rp_filter, RP_FILTER, view, error) &&
	       sysctl_look_opened(looking->ipv6_off, IPV6_OFF, view, error);
}

static gboolean mode_look(CniLook *look, GError **error)
{
	GError *why = NULL;
	const char *mode = rdmad_rdma_netns_mode(&why);

	look->rdma_exclusive = g_strcmp0(mode, "exclusive") == 0;
	if (mode || g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_clear_error(&why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

/* Counts all entries of the tables, empty ones too.  An unreadable table has capacity 0: if it is
 * full, the wait for the GID fails. */
static void gids_look(const Looking *looking, CniLook *look)
{
	look->gid_capacities = g_array_new(FALSE, TRUE, sizeof(guint));
	for (guint i = 0; i < looking->nics->len; i++) {
		const LookNic *nic = &g_array_index(looking->nics, LookNic, i);
		g_auto(GStrv) names = nic->gids && !nic->capacity
					      ? rdmad_sysroot_list(looking->root, nic->gids, NULL)
					      : NULL;
		const guint capacity = names ? g_strv_length(names) : nic->capacity;

		g_array_append_val(look->gid_capacities, capacity);
	}
}

static gpointer look_run(gpointer input, const RdmadJob *job, GError **error)
{
	Looking *looking = input;
	g_autoptr(CniLook) look = g_new0(CniLook, 1);

	look->host = cni_view_new();
	look->pod = cni_view_new();
	if (!pod_look(looking, look->pod, error) ||
	    (looking->nics->len && !host_look(looking, look->host, error)) ||
	    (looking->with_mode && !mode_look(look, error)))
		return NULL;
	gids_look(looking, look);
	look->pod->has_ipv6 = g_strcmp0(cni_view_sysctl(look->pod, IPV6_OFF), "0") == 0;
	look->pod->may_have_ipv6 = look->pod->has_ipv6 || is_writable(looking->ipv6_off);
	return g_steal_pointer(&look);
}

static char *gids_directory(const CniChoice *choice)
{
	const RdmadDevice *dev = choice->device;

	for (guint i = 0; i < dev->n_ports; i++)
		if (g_strcmp0(dev->ports[i].netdev, choice->netdev) == 0)
			return g_strdup_printf("sys/class/infiniband/%s/ports/%u/gids", dev->name,
					       dev->ports[i].number);
	return NULL;
}

/* ---- sizes of GID tables ---- */

/* A table keeps its size as long as the kernel keeps the device.  Returns 0 if it was not counted
 * yet. */
static guint capacity_known(const Cni *cni, const char *table)
{
	return table ? GPOINTER_TO_UINT(g_hash_table_lookup(cni->gid_capacities, table)) : 0;
}

static void capacities_keep(const Cni *cni, const GPtrArray *tables, const CniLook *look)
{
	if (g_hash_table_size(cni->gid_capacities) >= CAPACITIES_MAX)
		g_hash_table_remove_all(cni->gid_capacities);
	for (guint i = 0; i < tables->len; i++) {
		const guint capacity = g_array_index(look->gid_capacities, guint, i);

		if (tables->pdata[i] && capacity)
			g_hash_table_insert(cni->gid_capacities, g_strdup(tables->pdata[i]),
					    GUINT_TO_POINTER(capacity));
	}
}

/* ---- on the loop ---- */

static void looking_free(CniLooking *looking)
{
	Cni *cni = looking->cni;

	if (looking->is_queued)
		g_queue_remove(&cni->waiting_looks, looking);
	else
		cni->looks--;
	/* The next looks start from the loop, not from here, where operations may be ending one
	 * after the other. */
	if (cni->waiting_looks.length)
		rdmad_event_arm(cni->looks_next, 0);
	input_free(looking->input);
	g_ptr_array_unref(looking->tables);
	g_free(looking);
}

static void looking_end(CniLooking *looking, CniLook *look, const GError *error)
{
	const CniLooked done = looking->done;
	gpointer data = looking->data;

	if (look)
		capacities_keep(looking->cni, looking->tables, look);
	looking_free(looking);
	done(look, error, data);
}

static void looked(gpointer result, const GError *error, gpointer data)
{
	looking_end(data, result, error);
}

static void opened(int *fds, guint n, const GError *error, gpointer data)
{
	static const RdmadJobClass klass = { .name = "cni-look",
					     .run = look_run,
					     .done = looked,
					     .free_input = input_free,
					     .free_result = cni_look_free };
	CniLooking *looking = data;
	RdmadModule *self = looking->cni->self;
	g_autoptr(GError) problem = NULL;

	looking->opening = 0;
	if (!error) {
		looking->input->pod = n > 0 ? rdmad_steal_fd(&fds[0]) : -1;
		looking->input->rp_filter = n > 1 ? rdmad_steal_fd(&fds[1]) : -1;
		looking->input->ipv6_off = n > 2 ? rdmad_steal_fd(&fds[2]) : -1;
		looking->job =
			rdmad_work_submit(rdmad_module_workers(self), self, &klass,
					  g_steal_pointer(&looking->input), 0, looking, &problem);
	}
	if (!looking->job)
		looking_end(looking, NULL, error ? error : problem);
}

static void nic_add(CniLooking *looking, const CniChoice *choice)
{
	const RdmadDevice *dev = choice->device;
	const gboolean vf = choice->mode == CNI_MODE_SRIOV && dev->pf_netdevs && dev->pf_netdevs[0];
	const gboolean moves = cni_mode_moves_nic(choice->mode);
	char *table = moves ? NULL : gids_directory(choice);
	char *key = table ? g_strdup_printf("%s %d", table, dev->index) : NULL;
	const LookNic nic = {
		.name = g_strdup(choice->netdev),
		.pci = g_strdup(dev->pci_address),
		.pf = vf ? g_strdup(dev->pf_netdevs[0]) : NULL,
		.vf = vf && dev->vf_index >= 0 ? (guint)dev->vf_index : 0,
		.moves = moves,
		.gids = table,
		.capacity = capacity_known(looking->cni, key),
	};

	looking->input->with_mode |= dev->index != RDMAD_UNKNOWN;
	g_array_append_val(looking->input->nics, nic);
	g_ptr_array_add(looking->tables, key);
}

static gboolean looking_begin(CniLooking *looking, GError **error)
{
	static const char *const sysctls[] = { RP_FILTER, IPV6_OFF, NULL };
	Cni *cni = looking->cni;

	looking->is_queued = FALSE;
	cni->looks++;
	looking->opening =
		rdmad_executor_open(cni->executor, sysctls, looking->netns, opened, looking, error);
	return looking->opening != 0;
}

static void looks_next(gpointer data)
{
	Cni *cni = data;

	while (cni->looks < LOOKS_MAX && cni->waiting_looks.length) {
		CniLooking *looking = g_queue_pop_head(&cni->waiting_looks);
		g_autoptr(GError) error = NULL;

		if (!looking_begin(looking, &error))
			looking_end(looking, NULL, error);
	}
}

CniLooking *cni_look_start(Cni *cni, int netns, const GPtrArray *choices, CniLooked done,
			   gpointer data, GError **error)
{
	CniLooking *looking = g_new0(CniLooking, 1);
	Looking *input = g_new0(Looking, 1);

	*looking = (CniLooking){ .cni = cni,
				 .input = input,
				 .netns = netns,
				 .is_queued = cni->looks >= LOOKS_MAX,
				 .tables = g_ptr_array_new_with_free_func(g_free),
				 .done = done,
				 .data = data };
	input->root = rdmad_module_sysroot(cni->self);
	input->pod = input->rp_filter = input->ipv6_off = -1;
	input->nics = g_array_new(FALSE, TRUE, sizeof(LookNic));
	g_array_set_clear_func(input->nics, nic_clear);
	for (guint i = 0; choices && i < choices->len; i++)
		nic_add(looking, choices->pdata[i]);
	if (looking->is_queued) {
		g_queue_push_tail(&cni->waiting_looks, looking);
		return looking;
	}
	if (looking_begin(looking, error))
		return looking;
	looking_free(looking);
	return NULL;
}

void cni_look_cancel(CniLooking *looking)
{
	if (!looking)
		return;
	if (looking->opening && looking->cni->executor)
		rdmad_executor_forget(looking->cni->executor, looking->opening);
	if (looking->job)
		rdmad_job_cancel(looking->job);
	looking_free(looking);
}

void cni_looks_open(Cni *cni)
{
	cni->gid_capacities = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	cni->looks_next =
		rdmad_loop_add_timer(rdmad_module_loop(cni->self), cni->self, looks_next, cni);
}

void cni_looks_close(Cni *cni)
{
	g_clear_pointer(&cni->gid_capacities, g_hash_table_unref);
	g_clear_pointer(&cni->looks_next, rdmad_event_free);
}
