/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <jansson.h>

static gboolean (*const modes[])(Planner *planner, GError **error) = {
	[CNI_MODE_EXCLUSIVE] = plan_exclusive, [CNI_MODE_SHARED] = plan_shared,
	[CNI_MODE_SHARED_MULTI] = plan_shared, [CNI_MODE_SRIOV] = plan_sriov,
	[CNI_MODE_IPOIB] = plan_ipoib,
};

void cni_plan_free(CniPlan *plan)
{
	if (!plan)
		return;
	g_ptr_array_unref(plan->steps);
	cni_result_free(plan->result);
	g_free(plan->rdma_device);
	g_free(plan);
}

RdmadStep *planner_step(Planner *planner, RdmadStepKind kind, RdmadStepPlace where)
{
	RdmadStep *step = rdmad_step_new(kind, where);

	g_ptr_array_add(planner->plan->steps, step);
	return step;
}

gboolean planner_moves_nic(const Planner *planner)
{
	return cni_mode_moves_nic(planner->input->choice->mode);
}

/* ---- checks of every mode ---- */

static gboolean name_check(const Planner *planner, GError **error)
{
	return !cni_view_link(planner->input->pod, planner->name) ||
	       cni_refuse(error, CNI_ERROR_EXISTS, "the pod has an interface %s already",
			  planner->name);
}

static gboolean nic_find(Planner *planner, GError **error)
{
	const CniChoice *choice = planner->input->choice;

	planner->nic = cni_view_link(planner->input->host, choice->netdev);
	return planner->nic ||
	       cni_refuse(error, CNI_ERROR_DEVICE, "%s, the interface of %s, is not in the host",
			  choice->netdev, choice->device->id);
}

static gboolean mac_take(Planner *planner, GError **error)
{
	const CniPlanInput *input = planner->input;

	if (input->choice->entry)
		planner->mac = input->choice->entry->mac;
	if (input->request->mac.length)
		planner->mac = input->request->mac;
	return !(planner->mac.length && planner->mac.bytes[0] & 1) ||
	       cni_refuse(error, CNI_ERROR_CONFIG, "mac: is one of a group, not of an interface");
}

/* ---- the result ---- */

static void result_make(Planner *planner)
{
	const CniPlanInput *input = planner->input;
	char mac[RDMAD_MAC_TEXT];
	const CniInterface interface = {
		.name = (char *)planner->name,
		.mac = planner->result_mac.length
			       ? (char *)rdmad_mac_format(&planner->result_mac, mac)
			       : NULL,
		.sandbox = input->request->netns,
		.mtu = planner->result_mtu,
		.pci_id = input->choice->device->pci_address,
	};

	cni_result_add_interface(planner->plan->result, &interface);
	for (guint i = 0; i < planner->addresses->len; i++) {
		const PlannerAddress *address =
			&g_array_index(planner->addresses, PlannerAddress, i);
		const CniIp ip = { address->ip, address->gateway, 0 };

		g_array_append_val(planner->plan->result->ips, ip);
	}
	if (input->ipam) {
		g_array_append_vals(planner->plan->result->routes, input->ipam->routes->data,
				    input->ipam->routes->len);
		if (input->ipam->dns)
			planner->plan->result->dns = json_incref(input->ipam->dns);
	}
}

/* ---- the plan ---- */

static CniPlan *plan_new(const CniPlanInput *input)
{
	CniPlan *plan = g_new0(CniPlan, 1);

	plan->steps = rdmad_steps_new();
	plan->result = cni_result_new();
	plan->rdma_device = g_strdup(input->choice->device->name);
	return plan;
}

static gboolean planner_run(Planner *planner, GError **error)
{
	const CniPlanInput *input = planner->input;

	if (!name_check(planner, error) || !nic_find(planner, error) || !mac_take(planner, error) ||
	    !planner_find_addresses(planner, error) || !planner_check_gids(planner, error) ||
	    !modes[input->choice->mode](planner, error))
		return FALSE;
	planner_add_network(planner);
	planner_add_rdma(planner);
	result_make(planner);
	return TRUE;
}

CniPlan *cni_plan_make(const CniPlanInput *input, GError **error)
{
	g_autoptr(GArray) addresses = g_array_new(FALSE, TRUE, sizeof(PlannerAddress));
	g_autoptr(CniPlan) plan = plan_new(input);
	Planner planner = {
		.input = input,
		.policy = input->choice->policy,
		.name = input->choice->ifname,
		.addresses = addresses,
		.mtu = input->request->keys.mtu ?: (guint32)input->choice->policy->mtu,
		.plan = plan,
	};

	return planner_run(&planner, error) ? g_steal_pointer(&plan) : NULL;
}
