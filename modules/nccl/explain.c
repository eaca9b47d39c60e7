/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "gid.h"
#include "simulate.h"
#include "write.h"

static void append_title(GString *text, const NcclView *view, const NcclPlan *plan)
{
	g_string_append_printf(text, "NCCL 2.%u", plan->versions.from);
	if (plan->versions.to != plan->versions.from)
		g_string_append_printf(text, " to 2.%u", plan->versions.to);
	g_string_append_printf(text, "; %u of %u port%s selected; ", plan->n_selected,
			       plan->rails->len, plan->rails->len == 1 ? "" : "s");
	if (view->addresses)
		g_string_append_printf(text, "%u address%s in the namespace\n",
				       nccl_addresses_count(view->addresses),
				       nccl_addresses_count(view->addresses) == 1 ? "" : "es");
	else
		g_string_append(text, "addresses of the namespace not known\n");
}

/* ---- GIDs ---- */

static const char *type_text(RdmadGidType type)
{
	switch (type) {
	case RDMAD_GID_IB:
		return "IB";
	case RDMAD_GID_ROCE_V1:
		return "v1";
	case RDMAD_GID_ROCE_V2:
		return "v2";
	case RDMAD_GID_UNKNOWN:
		break;
	}
	return "?";
}

static const char *gid_verdict(const NcclView *view, const NcclPolicy *policy, const NcclRail *rail,
			       const RdmadGid *gid)
{
	const NcclGidReason reason = nccl_rail_judge_gid(view, policy, gid);

	if (rail->port->link_layer == RDMAD_LINK_LAYER_INFINIBAND)
		return "not needed on InfiniBand";
	if (rail->device->node_type == RDMAD_NODE_RNIC)
		return "an iWARP MAC address, no GID";
	if (gid == rail->gid && rail->reason == NCCL_RAIL_SELECTED)
		return "selected";
	if (reason == NCCL_GID_USABLE && rail->reason == NCCL_RAIL_SELECTED)
		return "usable; another is selected";
	return nccl_gid_reason_text(reason);
}

/* The widths are common to all tables, so that their columns align. */
typedef struct {
	int address, netdev;
} GidWidths;

static GidWidths gid_widths(const NcclPlan *plan)
{
	GidWidths widths = { 1, 1 };
	char address[46];

	for (guint r = 0; r < plan->rails->len; r++) {
		const RdmadPort *port = nccl_plan_rail(plan, r)->port;

		for (guint i = 0; i < port->n_gids; i++) {
			const char *netdev = port->gids[i].netdev;

			nccl_gid_format(port->gids[i].raw, address);
			widths.address = MAX(widths.address, (int)strlen(address));
			widths.netdev = MAX(widths.netdev, netdev ? (int)strlen(netdev) : 0);
		}
	}
	return widths;
}

static void append_gids(GString *text, const NcclView *view, const NcclPolicy *policy,
			const NcclRail *rail, const GidWidths *widths)
{
	char address[46];

	for (guint i = 0; i < rail->port->n_gids; i++) {
		const RdmadGid *gid = &rail->port->gids[i];
		g_autofree char *netdev = nccl_plan_line(g_strdup(gid->netdev ? gid->netdev : "-"));

		nccl_gid_format(gid->raw, address);
		g_string_append_printf(text, "    %3u  %-2s  %-*s  %-*s  %s\n", gid->index,
				       type_text(gid->type), widths->address, address,
				       widths->netdev, netdev,
				       gid_verdict(view, policy, rail, gid));
	}
}

/* ---- ports ---- */

static void append_gpu(GString *text, const NcclView *view, const NcclRail *rail)
{
	const RdmadGpu *gpu = rail->gpu >= 0 ? view->gpus->pdata[rail->gpu] : NULL;

	if (gpu && rail->distance <= RDMAD_DISTANCE_PXB)
		g_string_append_printf(text, ", %s to GPU %d (%s)",
				       rdmad_distance_name(rail->distance), rail->gpu,
				       gpu->pci_address);
	else if (gpu)
		g_string_append_printf(text, ", %s to the nearest GPU",
				       rdmad_distance_name(rail->distance));
}

static const char *link_text(const NcclRail *rail)
{
	if (rail->device->node_type == RDMAD_NODE_RNIC)
		return "iWARP";
	switch (rail->port->link_layer) {
	case RDMAD_LINK_LAYER_INFINIBAND:
		return "InfiniBand";
	case RDMAD_LINK_LAYER_ETHERNET:
		return "RoCE";
	case RDMAD_LINK_LAYER_UNKNOWN:
		break;
	}
	return "no verbs transport";
}

static void append_rail(GString *text, const NcclView *view, const NcclPolicy *policy,
			const NcclRail *rail, const GidWidths *widths)
{
	const RdmadPort *port = rail->port;
	g_autofree char *name = nccl_plan_line(g_strdup(rail->device->name));
	g_autofree char *netdev = port->netdev ? nccl_plan_line(g_strdup(port->netdev)) : NULL;

	g_string_append_printf(text, "\n%s:%u  %s\n    %s", name, port->number,
			       nccl_rail_reason_text(rail->reason), link_text(rail));
	if (port->rate_mbps > 0)
		g_string_append_printf(text, " %g Gb/s", port->rate_mbps / 1000.0);
	g_string_append_printf(text, ", %s", rdmad_port_state_name(port->state));
	if (netdev)
		g_string_append_printf(text, ", %s", netdev);
	append_gpu(text, view, rail);
	g_string_append_c(text, '\n');
	append_gids(text, view, policy, rail, widths);
}

/* ---- variables ---- */

static void append_env(GString *text, const NcclEnv *env, gsize width)
{
	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);
		const gsize used = strlen(variable->name) + 1 + strlen(variable->value);

		g_string_append_printf(text, "%s=%s%*s%s\n", variable->name, variable->value,
				       (int)(used < width ? width - used : 0) + 2, "",
				       variable->why);
	}
}

/* A line longer than this does not widen the column. */
#define WIDTH_MAX 60u

static gsize env_width(const NcclEnv *env)
{
	gsize width = 0;

	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);
		const gsize used = strlen(variable->name) + 1 + strlen(variable->value);

		if (used <= WIDTH_MAX)
			width = MAX(width, used);
	}
	return width;
}

/* Appends NCCL's choice without any setting. */
static void append_without(GString *text, const NcclView *view, const NcclPolicy *policy,
			   const NcclPlan *plan)
{
	g_autoptr(NcclEnv) none = nccl_env_new();
	g_autoptr(GArray) outcomes = nccl_simulate(view, none, plan->versions.to);
	g_autofree char *why = NULL;

	nccl_plan_holds(view, policy, none, plan->versions.to, &why);
	g_string_append_printf(text, "\nWithout settings NCCL 2.%u uses %u port%s%s%s.\n",
			       plan->versions.to, outcomes->len, outcomes->len == 1 ? "" : "s",
			       why && outcomes->len ? "; " : "", why && outcomes->len ? why : "");
}

char *nccl_write_explanation(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan)
{
	GString *text = g_string_new(NULL);
	const gsize width = MAX(env_width(plan->env), env_width(plan->siblings));
	const GidWidths widths = gid_widths(plan);

	append_title(text, view, plan);
	for (guint i = 0; i < plan->rails->len; i++)
		append_rail(text, view, policy, nccl_plan_rail(plan, i), &widths);
	if (plan->warnings[0])
		g_string_append_c(text, '\n');
	for (guint i = 0; plan->warnings[i]; i++)
		g_string_append_printf(text, "Warning: %s.\n", plan->warnings[i]);
	g_string_append_c(text, '\n');
	if (plan->refusal)
		g_string_append_printf(text, "Refused: %s.\n", plan->reason);
	append_env(text, plan->env, width);
	append_env(text, plan->siblings, width);
	append_without(text, view, policy, plan);
	return g_string_free(text, FALSE);
}
