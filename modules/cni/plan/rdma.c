/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make ADD wait until each address has its GID and RDMA_CM resolves the device by it */
#include "plan/planner.h"

/* The GIDs of a virtual link are in the table of the parent's device, which stays in the host.  The
 * table of a moved device is read in the pod. */
static RdmadStepPlace place_of_device(const Planner *planner)
{
	return planner_moves_nic(planner) && planner->input->rdma_exclusive ? RDMAD_STEP_IN_POD
									    : RDMAD_STEP_IN_HOST;
}

static guint32 port_of(const Planner *planner)
{
	const RdmadDevice *dev = planner->input->choice->device;

	for (guint i = 0; i < dev->n_ports; i++)
		if (g_strcmp0(dev->ports[i].netdev, planner->nic->name) == 0)
			return dev->ports[i].number;
	return dev->n_ports ? dev->ports[0].number : 1;
}

static void gid_add(Planner *planner, const RdmadIp *ip)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_WAIT_GID, place_of_device(planner));

	step->gid.device = g_strdup(planner->plan->rdma_device);
	step->gid.port = port_of(planner);
	step->gid.link = g_strdup(planner->name);
	step->gid.ip = rdmad_ip_host(ip);
	step->gid.timeout_ms = (guint32)planner->input->settings->gid_timeout_ms;
}

static void bind_add(Planner *planner, const RdmadIp *ip)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_RDMA_BIND, RDMAD_STEP_IN_POD);

	step->bind.device = g_strdup(planner->plan->rdma_device);
	step->bind.port = port_of(planner);
	step->bind.ip = rdmad_ip_host(ip);
}

void planner_add_rdma(Planner *planner)
{
	const GArray *addresses = planner->addresses;
	/* The GIDs of an InfiniBand port do not depend on its addresses. */
	const gboolean roce = planner->nic->mac.length == 6;

	for (guint i = 0; planner->policy->wait_gid && roce && i < addresses->len; i++)
		gid_add(planner, &g_array_index(addresses, PlannerAddress, i).ip);
	for (guint i = 0; planner->policy->prove && i < addresses->len; i++)
		bind_add(planner, &g_array_index(addresses, PlannerAddress, i).ip);
}
