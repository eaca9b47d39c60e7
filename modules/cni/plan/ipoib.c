/* SPDX-License-Identifier: Apache-2.0 */
/* Mode ipoib: a child of an IPoIB interface */
#include "plan/planner.h"

gboolean plan_ipoib(Planner *planner, GError **error)
{
	const CniViewLink *nic = planner->nic;
	RdmadStep *step;

	if (nic->mac.length != 20)
		return cni_refuse(error, CNI_ERROR_DEVICE, "%s is not InfiniBand; use mode shared",
				  nic->name);
	if (!nic->up)
		return cni_refuse(error, CNI_ERROR_DEVICE, "%s is down in the host", nic->name);
	if (planner->mac.length)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "mac: the address of an InfiniBand interface cannot be set");
	if (planner->mtu > nic->mtu)
		return cni_refuse(error, CNI_ERROR_CONFIG, "mtu: %u is above the %u of %s",
				  planner->mtu, nic->mtu, nic->name);
	planner->result_mtu = planner->mtu ? planner->mtu : nic->mtu;
	step = planner_step(planner, RDMAD_STEP_LINK_CREATE, RDMAD_STEP_IN_POD);
	step->create.kind = g_strdup("ipoib");
	step->create.parent_index = nic->index;
	step->create.parent = g_strdup(nic->name);
	step->create.name = g_strdup(planner->name);
	step->create.mode = g_strdup(cni_policy_ipoib_mode(planner->policy));
	step->create.pkey = planner->input->request->keys.pkey;
	step->create.mtu = planner->result_mtu;
	return TRUE;
}
