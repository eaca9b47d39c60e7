/* SPDX-License-Identifier: Apache-2.0 */
/* A plan while it is made, shared by the files of the modes. */
#pragma once

#include "error.h"
#include "plan/plan.h"

typedef struct {
	RdmadIp ip, gateway; /* gateway may be unset */
} PlannerAddress;

typedef struct {
	const CniPlanInput *input;
	const CniPolicy *policy;
	const char *name;	/* in the pod */
	const CniViewLink *nic; /* in the host */
	GArray *addresses;	/* of PlannerAddress */
	guint32 mtu;		/* requested; 0: not */
	RdmadMac mac;		/* requested; length 0: not */
	RdmadMac result_mac;	/* of the NIC in the pod */
	guint32 result_mtu;
	CniPlan *plan;
} Planner;

/* Appends a step.  The kernel removes a link's addresses and routes with the link. */
RdmadStep *planner_step(Planner *planner, RdmadStepKind kind, RdmadStepPlace where);

/* Returns whether the mode moves the NIC itself into the pod. */
gboolean planner_moves_nic(const Planner *planner);

gboolean plan_exclusive(Planner *planner, GError **error);
gboolean plan_sriov(Planner *planner, GError **error);
gboolean plan_shared(Planner *planner, GError **error);
gboolean plan_ipoib(Planner *planner, GError **error);

/* Selects the addresses; CNI_ERROR_ADDRESS. */
gboolean planner_find_addresses(Planner *planner, GError **error);
/* Adds the steps that all modes share once the link is in the pod: sysctls, addresses, routes,
 * rules. */
void planner_add_network(Planner *planner);
/* Returns whether the NIC gets an address of this family. */
gboolean planner_has_family(const Planner *planner, int family);
/* Checks that the GID table has room for the addresses; CNI_ERROR_RDMA. */
gboolean planner_check_gids(const Planner *planner, GError **error);
/* Adds the steps that wait for the GIDs, and verify that RDMA_CM resolves the device. */
void planner_add_rdma(Planner *planner);
