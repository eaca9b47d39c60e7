/* SPDX-License-Identifier: Apache-2.0 */
/* The GID of each address is there, and RDMA_CM finds the device by it, before the pod starts. */
#include "plan/planner.h"

/* A virtual link's addresses are in the GID table of the device below, which stays where it was; the
 * table of a moved one is read where it went. */
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
	/* An InfiniBand port's GIDs are those of the port. */
	const gboolean roce = planner->nic->mac.length == 6;

	for (guint i = 0; planner->policy->wait_gid && roce && i < addresses->len; i++)
		gid_add(planner, &g_array_index(addresses, PlannerAddress, i).ip);
	for (guint i = 0; planner->policy->prove && i < addresses->len; i++)
		bind_add(planner, &g_array_index(addresses, PlannerAddress, i).ip);
}
