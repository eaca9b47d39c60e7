/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in the making, which the files of the modes share. */
#pragma once

#include "error.h"
#include "plan/plan.h"

typedef struct {
	RdmadIp ip, gateway; /* gateway may be none */
} PlannerAddress;

typedef struct {
	const CniPlanInput *input;
	const CniPolicy *policy;
	const char *name;	/* in the pod */
	const CniViewLink *nic; /* in the host */
	GArray *addresses;	/* of PlannerAddress */
	guint32 mtu;		/* asked for; 0: not */
	RdmadMac mac;		/* asked for; length 0: not */
	RdmadMac result_mac;	/* that it will have */
	guint32 result_mtu;
	CniPlan *plan;
} Planner;

/* Appends a step.  In the pod, addresses and routes of a link go with it. */
RdmadStep *planner_step(Planner *planner, RdmadStepKind kind, RdmadStepPlace where);

/* Whether the NIC itself goes into the pod. */
gboolean planner_moves_nic(const Planner *planner);

gboolean plan_exclusive(Planner *planner, GError **error);
gboolean plan_sriov(Planner *planner, GError **error);
gboolean plan_shared(Planner *planner, GError **error);
gboolean plan_ipoib(Planner *planner, GError **error);

/* Where the addresses come from; CNI_ERROR_ADDRESS. */
gboolean planner_find_addresses(Planner *planner, GError **error);
/* The part that all modes have once the link is in the pod: sysctls, addresses, routes, rules. */
void planner_add_network(Planner *planner);
/* Room for the GIDs of its addresses; CNI_ERROR_RDMA. */
gboolean planner_check_gids(const Planner *planner, GError **error);
/* The steps that wait for them, and prove that RDMA_CM finds the device. */
void planner_add_rdma(Planner *planner);
