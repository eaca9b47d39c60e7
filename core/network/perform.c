/* SPDX-License-Identifier: Apache-2.0 */
#include "network/perform.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <rdmad/clock.h>
#include <string.h>

#define POLL_MS	    2
#define POLL_MS_MAX 20

RdmadNetwork *perform_network(const PerformContext *ctx, RdmadStepPlace where, GError **error)
{
	if (where == RDMAD_STEP_IN_HOST)
		return ctx->host;
	if (!ctx->pod)
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_GONE,
				    "the network namespace of the pod is gone");
	return ctx->pod;
}

gboolean perform_forgive(GError **error, RdmadError code)
{
	if (!g_error_matches(*error, RDMAD_ERROR, code))
		return FALSE;
	g_clear_error(error);
	return TRUE;
}

static gboolean forgiven(gboolean ok, GError **why, RdmadError code, GError **error)
{
	if (ok || perform_forgive(why, code))
		return TRUE;
	g_propagate_error(error, *why);
	return FALSE;
}

gboolean perform_wait(const PerformContext *ctx, guint timeout_ms,
		      gboolean (*ready)(gpointer data, GError **error), gpointer data,
		      GError **error)
{
	const gint64 until_us = rdmad_now_us() + (gint64)timeout_ms * 1000;
	guint pause_ms = POLL_MS;
	GError *why = NULL;

	for (;;) {
		if (ready(data, &why))
			return TRUE;
		if (why) {
			g_propagate_error(error, why);
			return FALSE;
		}
		if (g_atomic_int_get(ctx->cancelled)) {
			g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_CANCELLED,
					    "the caller has gone");
			return FALSE;
		}
		if (rdmad_now_us() >= until_us) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT, "not within %u ms",
				    timeout_ms);
			return FALSE;
		}
		g_usleep(pause_ms * 1000);
		pause_ms = MIN(pause_ms * 2, POLL_MS_MAX);
	}
}

/* Returns 0 if there is no such link. */
static int link_index(const PerformContext *ctx, RdmadNetwork *net, const char *name,
		      GError **error)
{
	PerformLink *last = ctx->last;
	g_autoptr(RdmadLink) link = NULL;

	if (last->net == net && g_str_equal(last->name, name))
		return last->index;
	link = rdmad_link_get(net, name, error);
	if (!link)
		return 0;
	last->net = strlen(name) < sizeof(last->name) ? net : NULL;
	g_strlcpy(last->name, name, sizeof(last->name));
	last->index = link->ifindex;
	return link->ifindex;
}

/* Drops the cached link after a step that may create, move or rename links. */
static void links_forget(const PerformContext *ctx, const RdmadStep *step)
{
	if (step->kind == RDMAD_STEP_LINK_CREATE || step->kind == RDMAD_STEP_LINK_MOVE ||
	    step->kind == RDMAD_STEP_VF_SET || step->kind == RDMAD_STEP_ALTNAME)
		ctx->last->net = NULL;
}

/* ---- a virtual link ---- */

static gboolean is_created(const RdmadStepLinkCreate *create, const RdmadLink *link)
{
	RdmadMac mac;

	return g_strcmp0(link->kind, create->kind) == 0 &&
	       link->parent == (int)create->parent_index &&
	       (!create->mac.length || (link->mac && rdmad_mac_parse(link->mac, &mac) &&
					rdmad_mac_equal(&mac, &create->mac)));
}

static gboolean parent_check(const PerformContext *ctx, const RdmadStepLinkCreate *create,
			     GError **error)
{
	g_autoptr(RdmadLink) parent =
		rdmad_link_get_index(ctx->host, (int)create->parent_index, error);

	if (!parent || g_str_equal(parent->name, create->parent))
		return parent != NULL;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "link %u of the host is %s now, not %s",
		    create->parent_index, parent->name, create->parent);
	return FALSE;
}

/* Returns a name of 14 bytes, the same at each attempt. */
static char *spare_name(const RdmadStepLinkCreate *create)
{
	return g_strdup_printf("rdmad.%08x", g_str_hash(create->name));
}

/* Creates the link under a spare name and renames it in the pod: the kernel rejects a name that
 * exists on the host, even for a link in the pod. */
static gboolean create_renamed(const PerformContext *ctx, const RdmadStepLinkCreate *create,
			       const RdmadLinkSpec *spec, GError **error)
{
	g_autofree char *spare = spare_name(create);
	const RdmadLinkChange change = { .name = create->name };
	RdmadLinkSpec other = *spec;
	GError *why = NULL;
	int index;

	other.name = spare;
	if (!rdmad_link_create(ctx->host, &other, &why) &&
	    !perform_forgive(&why, RDMAD_ERROR_BUSY)) {
		g_propagate_error(error, why);
		return FALSE;
	}
	index = link_index(ctx, ctx->pod, spare, error);
	return index && rdmad_link_change(ctx->pod, index, &change, error);
}

static gboolean create_again(const PerformContext *ctx, const RdmadStepLinkCreate *create,
			     const RdmadLinkSpec *spec, GError *why, GError **error)
{
	g_autoptr(GError) unknown = NULL;
	g_autoptr(RdmadLink) link = NULL;

	if (why->code == RDMAD_ERROR_BUSY) {
		link = rdmad_link_get(ctx->pod, create->name, &unknown);
		if (link ? is_created(create, link) : unknown->code == RDMAD_ERROR_NOT_FOUND) {
			g_error_free(why);
			return link || create_renamed(ctx, create, spec, error);
		}
	}
	g_propagate_error(error, why);
	return FALSE;
}

static gboolean do_create(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	const RdmadStepLinkCreate *create = &step->create;
	char mac[RDMAD_MAC_TEXT];
	const RdmadLinkSpec spec = {
		.kind = create->kind,
		.name = create->name,
		.parent = (int)create->parent_index,
		.netns = ctx->pod_fd,
		.mac = create->mac.length ? rdmad_mac_format(&create->mac, mac) : NULL,
		.mtu = create->mtu,
		.mode = create->mode,
		.vlan = create->vlan,
		.is_8021ad = create->is_8021ad,
		.pkey = create->pkey,
	};
	GError *why = NULL;

	if (!parent_check(ctx, create, error))
		return FALSE;
	return rdmad_link_create(ctx->host, &spec, &why) ||
	       create_again(ctx, create, &spec, why, error);
}

static gboolean is_like(const RdmadLink *link, gpointer create)
{
	return is_created(create, link);
}

/* Finds the link by its name, or by its address if the container has renamed it. */
static int created_find(const PerformContext *ctx, const RdmadStepLinkCreate *create,
			GError **error)
{
	g_autoptr(GPtrArray) links = rdmad_links_find(ctx->pod, is_like, (gpointer)create, error);
	g_autofree char *spare = spare_name(create);
	int found = 0;

	for (guint i = 0; links && i < links->len; i++) {
		const RdmadLink *link = links->pdata[i];

		if (g_str_equal(link->name, create->name) || g_str_equal(link->name, spare))
			return link->ifindex;
		if (create->mac.length)
			found = link->ifindex;
	}
	return found;
}

static gboolean undo_create(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;
	const int index = created_find(ctx, &step->create, &why);

	if (why) {
		g_propagate_error(error, why);
		return FALSE;
	}
	return !index || rdmad_links_delete(ctx->pod, &index, 1, error);
}

static gboolean do_move(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_move(ctx, &step->move, error);
}

static gboolean undo_move(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_move_back(ctx, &step->move, error);
}

/* ---- attributes of a link ---- */

static gboolean link_set(const PerformContext *ctx, const RdmadStep *step, gboolean back,
			 GError **error)
{
	const RdmadStepLinkSet *set = &step->link;
	const RdmadMac *mac = back ? &set->mac_before : &set->mac;
	const int up = back ? set->up_before : set->up;
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	const int index = net ? link_index(ctx, net, set->link, error) : 0;
	char text[RDMAD_MAC_TEXT];
	const RdmadLinkChange change = {
		.mtu = back ? set->mtu_before : set->mtu,
		.mac = mac->length ? rdmad_mac_format(mac, text) : NULL,
		.up = up == RDMAD_STEP_ON    ? 1
		      : up == RDMAD_STEP_OFF ? -1
					     : 0,
	};

	return index && rdmad_link_change(net, index, &change, error);
}

static gboolean do_set(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return link_set(ctx, step, FALSE, error);
}

static gboolean undo_set(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	return forgiven(link_set(ctx, step, TRUE, &why), &why, RDMAD_ERROR_NOT_FOUND, error);
}

static gboolean altname_set(const PerformContext *ctx, const RdmadStep *step, gboolean there,
			    GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	const int index = net ? link_index(ctx, net, step->altname.link, error) : 0;
	GError *why = NULL;

	if (!index)
		return FALSE;
	return forgiven(rdmad_link_set_altname(net, index, step->altname.name, there, &why), &why,
			there ? RDMAD_ERROR_BUSY : RDMAD_ERROR_NOT_FOUND, error);
}

static gboolean do_altname(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return altname_set(ctx, step, !step->altname.remove, error);
}

/* Succeeds if the link is missing or being returned: the move restores its names. */
static gboolean undo_altname(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	return forgiven(altname_set(ctx, step, step->altname.remove, &why), &why,
			RDMAD_ERROR_NOT_FOUND, error);
}

static gboolean sysctl_set(const PerformContext *ctx, const RdmadStep *step, const char *value,
			   GError **error)
{
	const RdmadSysctl sysctl = { step->sysctl.path, value };

	/* 0: the namespace of this thread. */
	return rdmad_sysctls_write(step->where == RDMAD_STEP_IN_HOST ? ctx->host_fd : 0, &sysctl, 1,
				   error);
}

static gboolean do_sysctl(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return sysctl_set(ctx, step, step->sysctl.value, error);
}

static gboolean undo_sysctl(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	return !step->sysctl.before || forgiven(sysctl_set(ctx, step, step->sysctl.before, &why),
						&why, RDMAD_ERROR_NOT_FOUND, error);
}

/* ---- addresses, neighbours ---- */

RdmadAddress perform_address(const RdmadStepAddress *address, int ifindex)
{
	RdmadAddress made = {
		.ifindex = ifindex,
		.ip = address->ip,
		.peer = address->peer,
		.broadcast = address->broadcast,
		.flags = address->flags,
		.scope = address->scope,
		.metric = address->metric,
		.valid_s = address->valid_s,
		.preferred_s = address->preferred_s,
	};

	g_strlcpy(made.label, address->label ?: "", sizeof(made.label));
	return made;
}

static gboolean address_set(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	const int index = net ? link_index(ctx, net, step->address.link, error) : 0;
	const RdmadAddress address = perform_address(&step->address, index);

	return index && rdmad_address_replace(net, &address, error);
}

static gboolean address_unset(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	GError *why = NULL;
	const int index = net ? link_index(ctx, net, step->address.link, &why) : 0;
	const RdmadAddress address = perform_address(&step->address, index);

	return forgiven(index && rdmad_address_delete(net, &address, &why), &why,
			RDMAD_ERROR_NOT_FOUND, error);
}

static gboolean do_address(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return step->address.remove ? address_unset(ctx, step, error)
				    : address_set(ctx, step, error);
}

/* A missing link needs no restored address. */
static gboolean undo_address(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	return step->address.remove
		       ? forgiven(address_set(ctx, step, &why), &why, RDMAD_ERROR_NOT_FOUND, error)
		       : address_unset(ctx, step, error);
}

static gboolean do_neighbour(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	const int index = net ? link_index(ctx, net, step->neighbour.link, error) : 0;
	char mac[RDMAD_MAC_TEXT];

	return index && rdmad_neighbour_replace(net, index, &step->neighbour.ip,
						rdmad_mac_format(&step->neighbour.mac, mac), error);
}

static gboolean undo_neighbour(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	GError *why = NULL;
	const int index = net ? link_index(ctx, net, step->neighbour.link, &why) : 0;

	return forgiven(index && rdmad_neighbour_delete(net, index, &step->neighbour.ip, &why),
			&why, RDMAD_ERROR_NOT_FOUND, error);
}

/* ---- routes, rules ---- */

RdmadRoute perform_route(const RdmadStepRoute *route, int ifindex)
{
	RdmadRoute made = {
		.family = route->to.family,
		.to = route->to.prefix ? route->to : (RdmadIp){ 0 },
		.table = route->table,
		.type = route->type,
		.protocol = route->protocol,
		.scope = route->scope,
		.metric = route->metric,
		.source = route->source,
		.mtu = route->mtu,
		.advmss = route->advmss,
	};

	if (ifindex) {
		made.n_hops = 1;
		made.hops[0] = (RdmadRouteHop){ .gateway = route->gateway,
						.ifindex = ifindex,
						.onlink = route->onlink };
	}
	return made;
}

/* Returns whether the link has a route with this destination, table and metric. */
static gboolean link_has_route(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	g_autoptr(GPtrArray) all =
		rdmad_routes_list(net, route->family, route->table, route->hops[0].ifindex, error);

	for (guint i = 0; all && i < all->len; i++) {
		const RdmadRoute *other = all->pdata[i];

		if (rdmad_ip_equal(&other->to, &route->to) && other->metric == route->metric)
			return TRUE;
	}
	return FALSE;
}

/* An existing route of another NIC ends with that NIC, and the removed one is needed then. */
static gboolean route_restore(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	GError *why = NULL;

	if (rdmad_route_add(net, route, &why))
		return TRUE;
	if (perform_forgive(&why, RDMAD_ERROR_BUSY) &&
	    (link_has_route(net, route, &why) || (!why && rdmad_route_append(net, route, &why))))
		return TRUE;
	return forgiven(FALSE, &why, RDMAD_ERROR_BUSY, error);
}

/* An existing route leads to the same place: another NIC of the network may have added it. */
static gboolean route_set(const PerformContext *ctx, const RdmadStep *step, gboolean there,
			  GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	GError *why = NULL;
	const int index =
		net && step->route.link ? link_index(ctx, net, step->route.link, &why) : 0;
	const RdmadRoute route = perform_route(&step->route, index);

	if (!net)
		return FALSE;
	if (why) {
		g_propagate_error(error, why);
		return FALSE;
	}
	if (there && step->route.replace)
		return rdmad_route_replace(net, &route, error);
	if (there && step->route.remove && step->where == RDMAD_STEP_IN_POD)
		return route_restore(net, &route, error);
	return there ? forgiven(rdmad_route_add(net, &route, &why), &why, RDMAD_ERROR_BUSY, error)
		     : rdmad_route_delete(net, &route, error);
}

static gboolean route_unset(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	return forgiven(route_set(ctx, step, FALSE, &why), &why, RDMAD_ERROR_NOT_FOUND, error);
}

static gboolean do_route(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return step->route.remove ? route_unset(ctx, step, error)
				  : route_set(ctx, step, TRUE, error);
}

/* Returns whether the pod has changed its network so that it cannot have the route. */
static gboolean route_has_no_way(const PerformContext *ctx, const RdmadStep *step)
{
	const int errnum = step->where == RDMAD_STEP_IN_POD ? rdmad_network_errnum(ctx->pod) : 0;

	return errnum == ENETUNREACH || errnum == EHOSTUNREACH || errnum == ENETDOWN ||
	       (errnum == EINVAL && rdmad_ip_is_set(&step->route.source));
}

/* A missing link needs no restored route. */
static gboolean undo_route(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	GError *why = NULL;

	if (!step->route.remove)
		return route_unset(ctx, step, error);
	if (route_set(ctx, step, TRUE, &why) || perform_forgive(&why, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	if (route_has_no_way(ctx, step)) {
		g_error_free(why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

static gboolean rule_set(const PerformContext *ctx, const RdmadStep *step, gboolean there,
			 GError **error)
{
	RdmadNetwork *net = perform_network(ctx, step->where, error);
	RdmadRule rule = {
		.family = step->rule.family,
		.from = step->rule.from,
		.to = step->rule.to,
		.priority = step->rule.priority,
		.table = step->rule.table,
		.protocol = step->rule.protocol,
	};
	GError *why = NULL;

	if (!net)
		return FALSE;
	if (step->rule.mark || step->rule.mask) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "rules by marks are not made");
		return FALSE;
	}
	g_strlcpy(rule.iif, step->rule.iif ? step->rule.iif : "", sizeof(rule.iif));
	g_strlcpy(rule.oif, step->rule.oif ? step->rule.oif : "", sizeof(rule.oif));
	return there ? forgiven(rdmad_rule_add(net, &rule, &why), &why, RDMAD_ERROR_BUSY, error)
		     : forgiven(rdmad_rule_delete(net, &rule, &why), &why, RDMAD_ERROR_NOT_FOUND,
				error);
}

static gboolean do_rule(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return rule_set(ctx, step, !step->rule.remove, error);
}

static gboolean undo_rule(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return rule_set(ctx, step, step->rule.remove, error);
}

/* ---- waiting for a link ---- */

typedef struct {
	RdmadNetwork *net;
	const RdmadStepWaitLink *wait;
} LinkWait;

static gboolean addresses_are_settled(RdmadNetwork *net, int index, GError **error)
{
	g_autoptr(GPtrArray) addresses = rdmad_addresses_list(net, index, error);

	for (guint i = 0; addresses && i < addresses->len; i++) {
		const RdmadAddress *address = addresses->pdata[i];
		g_autofree char *text = rdmad_ip_format(&address->ip);

		if (address->flags & IFA_F_DADFAILED) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
				    "another interface has the address %s", text);
			return FALSE;
		}
		if (address->flags & IFA_F_TENTATIVE)
			return FALSE;
	}
	return addresses != NULL;
}

static gboolean link_is_ready(gpointer data, GError **error)
{
	const LinkWait *wait = data;
	g_autoptr(RdmadLink) link = rdmad_link_get(wait->net, wait->wait->link, error);

	return link && (!wait->wait->carrier || link->flags & IFF_RUNNING) &&
	       (!wait->wait->addresses || addresses_are_settled(wait->net, link->ifindex, error));
}

static gboolean do_wait(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	LinkWait wait = { perform_network(ctx, step->where, error), &step->wait };
	GError *why = NULL;

	if (!wait.net)
		return FALSE;
	if (!step->wait.may_fail)
		return perform_wait(ctx, step->wait.timeout_ms, link_is_ready, &wait, error);
	return forgiven(perform_wait(ctx, step->wait.timeout_ms, link_is_ready, &wait, &why), &why,
			RDMAD_ERROR_TIMEOUT, error);
}

/* ---- other steps ---- */

static gboolean do_vf(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_vf(ctx, &step->vf, FALSE, error);
}

static gboolean undo_vf(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_vf(ctx, &step->vf, TRUE, error);
}

static gboolean do_rdma_move(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_rdma_move(ctx, &step->rdma, FALSE, error);
}

static gboolean undo_rdma_move(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_rdma_move(ctx, &step->rdma, TRUE, error);
}

static gboolean do_announce(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_announce(ctx->pod, &step->announce, error);
}

static gboolean do_bind(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_bind(ctx, &step->bind, error);
}

static gboolean do_smc(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_smc(ctx, step, FALSE, error);
}

static gboolean undo_smc(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return perform_smc(ctx, step, TRUE, error);
}

static const struct {
	gboolean (*make)(const PerformContext *ctx, const RdmadStep *step, GError **error);
	gboolean (*undo)(const PerformContext *ctx, const RdmadStep *step, GError **error);
	gboolean without_pod; /* the step concerns only the host */
} kinds[RDMAD_N_STEPS] = {
	[RDMAD_STEP_LINK_CREATE] = { do_create, undo_create },
	[RDMAD_STEP_LINK_MOVE] = { do_move, undo_move },
	[RDMAD_STEP_LINK_SET] = { do_set, undo_set, TRUE },
	[RDMAD_STEP_ALTNAME] = { do_altname, undo_altname, TRUE },
	[RDMAD_STEP_SYSCTL] = { do_sysctl, undo_sysctl, TRUE },
	[RDMAD_STEP_ADDRESS] = { do_address, undo_address, TRUE },
	[RDMAD_STEP_ROUTE] = { do_route, undo_route, TRUE },
	[RDMAD_STEP_RULE] = { do_rule, undo_rule, TRUE },
	[RDMAD_STEP_NEIGHBOUR] = { do_neighbour, undo_neighbour, TRUE },
	[RDMAD_STEP_ANNOUNCE] = { do_announce, NULL },
	[RDMAD_STEP_VF_SET] = { do_vf, undo_vf },
	[RDMAD_STEP_RDMA_MOVE] = { do_rdma_move, undo_rdma_move },
	[RDMAD_STEP_WAIT_GID] = { NULL, NULL },
	[RDMAD_STEP_WAIT_LINK] = { do_wait, NULL, TRUE },
	[RDMAD_STEP_RDMA_BIND] = { do_bind, NULL },
	[RDMAD_STEP_SMC] = { do_smc, undo_smc, TRUE },
};

static gboolean explain(gboolean ok, const char *verb, const RdmadStep *step, GError **error)
{
	if (!ok && error && *error) {
		g_autofree char *text = rdmad_step_describe(step);

		g_prefix_error(error, "%s%s: ", verb, text);
	}
	return ok;
}

gboolean perform_do(const PerformContext *ctx, const RdmadStep *step, int *result, GError **error)
{
	*result = -1;
	if (!ctx->pod && !(step->where == RDMAD_STEP_IN_HOST && kinds[step->kind].without_pod)) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_GONE,
				    "the network namespace of the pod is gone");
		return FALSE;
	}
	links_forget(ctx, step);
	if (step->kind == RDMAD_STEP_WAIT_GID)
		return explain(perform_wait_gid(ctx, step->where, &step->gid, result, error), "",
			       step, error);
	return explain(kinds[step->kind].make(ctx, step, error), "", step, error);
}

/* Links and routes in the pod end with its namespace.  A link to be returned may be on the host
 * already. */
static gboolean has_undo(const PerformContext *ctx, const RdmadStep *step)
{
	return kinds[step->kind].undo && !step->goes_with_link &&
	       (ctx->pod || step->where == RDMAD_STEP_IN_HOST);
}

gboolean perform_undo(const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	links_forget(ctx, step);
	return !has_undo(ctx, step) ||
	       explain(kinds[step->kind].undo(ctx, step, error), "undo of ", step, error);
}
