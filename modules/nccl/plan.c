/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-private.h"

#include <arpa/inet.h>
#include <string.h>

#include "gid.h"

#define ERDMA_OLDEST  19u   /* NCCL's minor version, from the driver's manual */
#define NAMED_RAILS   4u    /* named in a reason; the others are counted */
#define CONF_LINE_MAX 1023u /* of a line of nccl.conf */

static const char *const REFUSALS[] = {
	[NCCL_REFUSAL_NONE] = "none",
	[NCCL_REFUSAL_NO_DEVICE] = "no-device",
	[NCCL_REFUSAL_NO_GID] = "no-gid",
	[NCCL_REFUSAL_NO_ADDRESSES] = "no-addresses",
	[NCCL_REFUSAL_MIXED] = "mixed-link-layers",
	[NCCL_REFUSAL_TOO_MANY] = "too-many-ports",
	[NCCL_REFUSAL_NO_SETTING] = "no-setting",
	[NCCL_REFUSAL_TOO_LONG] = "too-long",
};
G_STATIC_ASSERT(G_N_ELEMENTS(REFUSALS) == NCCL_REFUSALS);

const char *nccl_refusal_name(NcclRefusal refusal)
{
	return REFUSALS[refusal];
}

const NcclRail *nccl_plan_rail(const NcclPlan *plan, guint index)
{
	return &g_array_index(plan->rails, NcclRail, index);
}

void nccl_plan_free(NcclPlan *plan)
{
	g_array_unref(plan->rails);
	nccl_env_free(plan->env);
	nccl_env_free(plan->siblings);
	g_strfreev(plan->warnings);
	g_free(plan->reason);
	g_free(plan);
}

/* Device and interface names come from outside, and the text is written to terminals, and to files
 * that shells and NCCL read line by line. */
char *nccl_plan_line(char *text)
{
	char *valid = g_utf8_make_valid(text, -1);

	g_free(text);
	for (char *c = valid; *c; c = g_utf8_next_char(c))
		if (g_unichar_iscntrl(g_utf8_get_char(c)))
			memset(c, '?', (gsize)(g_utf8_next_char(c) - c));
	return valid;
}

G_GNUC_PRINTF(3, 4)
static void plan_refuse(NcclPlan *plan, NcclRefusal refusal, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_free(plan->reason);
	plan->reason = nccl_plan_line(g_strdup_vprintf(format, args));
	plan->refusal = refusal;
	va_end(args);
}

void nccl_plan_warn(NcclPlan *plan, const char *format, ...)
{
	const guint n = g_strv_length(plan->warnings);
	va_list args;

	va_start(args, format);
	plan->warnings = g_renew(char *, plan->warnings, n + 2);
	plan->warnings[n] = nccl_plan_line(g_strdup_vprintf(format, args));
	plan->warnings[n + 1] = NULL;
	va_end(args);
}

/* Returns the rails with a reason: "mlx5_0:1, mlx5_1:1 and 6 more". */
static char *rails_with(const NcclPlan *plan, NcclRailReason reason)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < plan->rails->len; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);

		if (rail->reason == reason && n++ < NAMED_RAILS)
			g_string_append_printf(text, "%s%s:%u", n > 1 ? ", " : "",
					       rail->device->name, rail->port->number);
	}
	if (n > NAMED_RAILS)
		g_string_append_printf(text, " and %u more", n - NAMED_RAILS);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- stages ---- */

static void plan_count_selected(NcclPlan *plan)
{
	plan->n_selected = 0;
	while (plan->n_selected < plan->rails->len &&
	       nccl_plan_rail(plan, plan->n_selected)->reason == NCCL_RAIL_SELECTED)
		plan->n_selected++;
}

static int left_out_last(gconstpointer a, gconstpointer b, gpointer data)
{
	const NcclRail *x = a, *y = b;

	return (x->reason != NCCL_RAIL_SELECTED) - (y->reason != NCCL_RAIL_SELECTED);
}

void nccl_plan_keep_subset(NcclPlan *plan)
{
	g_autofree char *names = rails_with(plan, NCCL_RAIL_NOT_IN_SUBSET);

	/* g_array_sort_with_data() is stable. */
	g_array_sort_with_data(plan->rails, left_out_last, NULL);
	plan_count_selected(plan);
	nccl_plan_warn(plan, "left out, as no setting fits all: %s", names);
}

static gboolean plan_has_device(NcclPlan *plan, const NcclView *view)
{
	if (plan->n_selected)
		return TRUE;
	if (plan->rails->len == 0) {
		plan_refuse(plan, NCCL_REFUSAL_NO_DEVICE, "there is no RDMA device");
		return FALSE;
	}
	for (guint i = 0; i < plan->rails->len; i++)
		if (nccl_plan_rail(plan, i)->reason == NCCL_RAIL_NO_GID)
			return TRUE;
	plan_refuse(plan, NCCL_REFUSAL_NO_DEVICE, "no port can be used: %s:%u: %s",
		    nccl_plan_rail(plan, 0)->device->name, nccl_plan_rail(plan, 0)->port->number,
		    nccl_rail_reason_text(nccl_plan_rail(plan, 0)->reason));
	return FALSE;
}

/* Returns the reason of the GID that passed the most checks. */
static NcclGidReason port_gid_reason(const NcclView *view, const NcclPolicy *policy,
				     const RdmadPort *port)
{
	NcclGidReason nearest = NCCL_GID_NOT_V2;

	for (guint i = 0; i < port->n_gids; i++)
		nearest = MAX(nearest, nccl_rail_judge_gid(view, policy, &port->gids[i]));
	return nearest;
}

/* A RoCE port without a GID is a rail that the job would miss if it was allocated; otherwise, and
 * beside InfiniBand, it is a port that was not set up. */
static gboolean plan_has_gids(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	for (guint i = plan->n_selected; i < plan->rails->len; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);
		g_autofree char *names = NULL;

		if (rail->reason != NCCL_RAIL_NO_GID)
			continue;
		names = rails_with(plan, NCCL_RAIL_NO_GID);
		if (plan->n_selected == 0 ||
		    (nccl_plan_is_roce(plan) && view->allocated && !policy->allow_subset)) {
			plan_refuse(plan, NCCL_REFUSAL_NO_GID, "no routable GID: %s: %s", names,
				    rail->port->n_gids == 0 ? "the table is empty"
							    : nccl_gid_reason_text(port_gid_reason(
								      view, policy, rail->port)));
			return FALSE;
		}
		nccl_plan_warn(plan, "without a GID that can be used: %s", names);
		break;
	}
	return TRUE;
}

static const NcclRail *first_selected(const NcclPlan *plan, RdmadLinkLayer layer)
{
	for (guint i = 0; i < plan->n_selected; i++)
		if (nccl_plan_rail(plan, i)->port->link_layer == layer)
			return nccl_plan_rail(plan, i);
	return NULL;
}

/* Decides the link layer of the whole plan.  An Ethernet port without a usable GID is not selected,
 * and so does not compete with InfiniBand, which needs no GID. */
static gboolean plan_has_one_link_layer(NcclPlan *plan)
{
	const NcclRail *infiniband = first_selected(plan, RDMAD_LINK_LAYER_INFINIBAND);
	const NcclRail *ethernet = first_selected(plan, RDMAD_LINK_LAYER_ETHERNET);

	plan->link_layer = infiniband ? RDMAD_LINK_LAYER_INFINIBAND : RDMAD_LINK_LAYER_ETHERNET;
	if (!infiniband || !ethernet)
		return TRUE;
	plan_refuse(plan, NCCL_REFUSAL_MIXED,
		    "%s:%u and %s:%u have different link layers: choose one with link_layer",
		    infiniband->device->name, infiniband->port->number, ethernet->device->name,
		    ethernet->port->number);
	return FALSE;
}

static gboolean plan_fits_limit(NcclPlan *plan, const NcclPolicy *policy)
{
	const guint limit = nccl_port_limit(plan->asked.to);

	if (plan->n_selected <= limit)
		return TRUE;
	if (!policy->allow_subset) {
		plan_refuse(plan, NCCL_REFUSAL_TOO_MANY, "%u ports, and NCCL 2.%u takes %u",
			    plan->n_selected, plan->asked.to, limit);
		return FALSE;
	}
	for (guint i = limit; i < plan->n_selected; i++)
		g_array_index(plan->rails, NcclRail, i).reason = NCCL_RAIL_NOT_IN_SUBSET;
	nccl_plan_keep_subset(plan);
	return TRUE;
}

static gboolean rail_may_have_gids(const NcclView *view, const NcclRail *rail)
{
	for (guint i = 0; rail->port->n_gids == 0 && i < view->devices->len; i++) {
		const NcclViewDevice *entry = nccl_view_device(view, i);

		if (entry->device == rail->device)
			return entry->moved;
	}
	return FALSE;
}

/* Returns the number of rails without a GID that are ports to use nevertheless: all of them, or
 * those whose tables are unknown. */
static guint plan_select_without_gids(NcclPlan *plan, const NcclView *view, gboolean all)
{
	guint n = 0;

	for (guint i = 0; i < plan->rails->len; i++) {
		NcclRail *rail = &g_array_index(plan->rails, NcclRail, i);

		if (rail->reason == NCCL_RAIL_NO_GID && (all || rail_may_have_gids(view, rail))) {
			rail->reason = NCCL_RAIL_SELECTED;
			n++;
		}
	}
	g_array_sort_with_data(plan->rails, left_out_last, NULL);
	plan_count_selected(plan);
	return n;
}

/* While the network or a table of GIDs is unknown, only the ports are certain. */
static gboolean plan_knows_addresses(NcclPlan *plan, const NcclView *view)
{
	const gboolean is_empty = view->addresses && !nccl_addresses_count(view->addresses);

	if (!view->addresses)
		nccl_plan_warn(
			plan, "the addresses of the namespace are not known: GIDs are not matched");
	if (!plan_select_without_gids(plan, view, is_empty) && !is_empty)
		return TRUE;
	nccl_env_free(plan->env);
	plan->env = nccl_plan_ports_env(plan);
	plan_refuse(plan, NCCL_REFUSAL_NO_ADDRESSES,
		    is_empty ? "the container's network is not known yet: no GID can be named"
			     : "the GIDs of a device that was moved into the pod are not known");
	return FALSE;
}

gboolean nccl_plan_is_roce(const NcclPlan *plan)
{
	return plan->link_layer == RDMAD_LINK_LAYER_ETHERNET;
}

static const char *no_setting_text(const NcclPlan *plan)
{
	if (!nccl_plan_is_roce(plan))
		return "NCCL_IB_HCA cannot name these ports";
	return plan->asked.to <= 20 ? "NCCL before 2.21 has one index for all ports"
				    : "neither one index nor one address range is right";
}

static void refuse_setting(NcclPlan *plan)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char address[INET6_ADDRSTRLEN];

	for (guint i = 0; i < plan->n_selected && i < NAMED_RAILS; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);

		g_string_append_printf(text, "%s%s:%u", i ? ", " : "", rail->device->name,
				       rail->port->number);
		if (!rail->gid)
			continue;
		nccl_gid_format(rail->gid->raw, address);
		g_string_append_printf(text, " has %s at %u", address, rail->gid->index);
	}
	if (plan->n_selected > NAMED_RAILS)
		g_string_append_printf(text, " and %u more", plan->n_selected - NAMED_RAILS);
	plan_refuse(plan, NCCL_REFUSAL_NO_SETTING, "%s: %s", no_setting_text(plan), text->str);
}

static gboolean plan_settle(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	if (nccl_plan_settle(plan, view, policy))
		return TRUE;
	refuse_setting(plan);
	return FALSE;
}

/* ---- other variables ---- */

static void set_number(NcclEnv *env, const char *name, int value)
{
	if (value != NCCL_UNSET)
		nccl_env_set_int(env, name, value, "configured");
}

static gboolean plan_is_erdma(const NcclPlan *plan)
{
	return g_strcmp0(nccl_plan_rail(plan, 0)->device->driver, "erdma") == 0;
}

static void set_socket_ifname(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	if (g_strcmp0(policy->socket_ifname, "auto") != 0) {
		if (policy->socket_ifname && policy->socket_ifname[0])
			nccl_env_set(plan->env, "NCCL_SOCKET_IFNAME", policy->socket_ifname,
				     "configured");
	} else if (view->default_netdevs[0] && nccl_env_value_is_plain(view->default_netdevs[0])) {
		nccl_env_take(plan->env, "NCCL_SOCKET_IFNAME",
			      g_strconcat("=", view->default_netdevs[0], NULL),
			      "has the default route");
	}
}

static void set_configured(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	set_socket_ifname(plan, view, policy);
	set_number(plan->env, "NCCL_IB_TC", policy->tc);
	set_number(plan->env, "NCCL_IB_SL", policy->sl);
	if (!nccl_plan_is_roce(plan))
		set_number(plan->env, "NCCL_IB_PKEY", policy->pkey);
	set_number(plan->env, "NCCL_IB_QPS_PER_CONNECTION", policy->qps_per_connection);
	set_number(plan->env, "NCCL_CROSS_NIC", policy->cross_nic);
	if (policy->net_gdr_level)
		nccl_env_set(plan->env, "NCCL_NET_GDR_LEVEL", policy->net_gdr_level, "configured");
	else if (plan_is_erdma(plan))
		nccl_env_set(plan->env, "NCCL_NET_GDR_LEVEL", "SYS", "as eRDMA's manual has it");
	if (policy->topo_file)
		nccl_env_set(plan->env, "NCCL_TOPO_FILE", policy->topo_file, "configured");
	/* NCCL before 2.28 ignores it. */
	if (policy->env_plugin)
		nccl_env_set(plan->env, "NCCL_ENV_PLUGIN", policy->env_plugin, "configured");
}

static void warn_other(NcclPlan *plan, const NcclView *view)
{
	g_autofree char *down = rails_with(plan, NCCL_RAIL_PORT_DOWN);

	if (view->allocated && down[0])
		nccl_plan_warn(plan, "not active: %s", down);
	if (view->cut)
		nccl_plan_warn(plan, "only the first %u devices are looked at", NCCL_VIEW_DEVICES);
	if (plan->versions.from > plan->asked.from)
		nccl_plan_warn(plan, "right for NCCL 2.%u and newer; not possible for older ones",
			       plan->versions.from);
	if (plan_is_erdma(plan) && plan->versions.to < ERDMA_OLDEST)
		nccl_plan_warn(plan, "eRDMA needs NCCL 2.%u or newer", ERDMA_OLDEST);
	if (plan_is_erdma(plan) && plan->versions.from <= 28 && plan->versions.to >= 28)
		nccl_plan_warn(plan, "NCCL 2.28.7 and 2.28.9 crash on eRDMA");
}

/* Values are written unquoted to a line of nccl.conf, and to a shell. */
static void plan_check_values(NcclPlan *plan)
{
	for (guint i = 0; i < plan->env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(plan->env, i);

		if (strlen(variable->name) + 1 + strlen(variable->value) <= CONF_LINE_MAX &&
		    nccl_env_value_is_plain(variable->value))
			continue;
		plan_refuse(plan, NCCL_REFUSAL_TOO_LONG,
			    "%s would be longer than %u bytes, or has other characters than "
			    "nccl.conf can hold",
			    variable->name, CONF_LINE_MAX);
		break;
	}
	if (plan->refusal == NCCL_REFUSAL_TOO_LONG) {
		nccl_env_free(plan->env);
		plan->env = nccl_env_new();
	}
}

/* The settings may select another GID than the best one. */
static void plan_note_gids(NcclPlan *plan)
{
	for (guint i = 0; i < plan->n_selected; i++) {
		NcclRail *rail = &g_array_index(plan->rails, NcclRail, i);

		if (rail->gid)
			rail->gid = nccl_simulate_gid(rail->port, plan->env, plan->versions.to).gid;
	}
}

NcclPlan *nccl_plan_new(const NcclView *view, NcclVersions versions, const NcclPolicy *policy)
{
	NcclPlan *plan = g_new0(NcclPlan, 1);

	plan->asked = plan->versions = versions;
	plan->rails = nccl_rails_choose(view, policy);
	plan->env = nccl_env_new();
	plan->siblings = nccl_env_new();
	plan->asked_siblings = policy->siblings;
	plan->warnings = g_new0(char *, 1);
	plan_count_selected(plan);
	if (!plan_has_device(plan, view) || !plan_has_one_link_layer(plan) ||
	    (nccl_plan_is_roce(plan) && !plan_knows_addresses(plan, view)) ||
	    !plan_has_gids(plan, view, policy) || !plan_fits_limit(plan, policy) ||
	    !plan_settle(plan, view, policy))
		return plan;
	plan_note_gids(plan);
	if (plan_is_erdma(plan) && plan->versions.to >= ERDMA_OLDEST)
		plan->versions.from = MAX(plan->versions.from, ERDMA_OLDEST);
	set_configured(plan, view, policy);
	warn_other(plan, view);
	plan_check_values(plan);
	if (!plan->refusal)
		nccl_siblings_fill(plan, policy);
	return plan;
}
