/* SPDX-License-Identifier: Apache-2.0 */
/* A plan while it is made, shared by the parts of the planner. */
#pragma once

#include <rdmad/step.h>

#include "nic/plan.h"

typedef struct {
	const ErdmaPlanInput *in;
	const RdmadLink *link;
	ErdmaPlan *plan;
	GPtrArray *last; /* of RdmadStep: removals, which come after all other steps */
} Planner;

/* owner.c: returns READY if rdmad may configure the NIC; otherwise sets `reason`. */
ErdmaNicState erdma_plan_owner(const ErdmaPlanInput *in, const RdmadLink *link, char **reason);
/* Returns whether a route is a default route of the main table. */
gboolean erdma_route_is_default(const RdmadRoute *route);
/* Returns whether the link is the primary NIC: the settings or the metadata service name it, or
 * else its default route takes precedence over those of other links that rdmad does not manage. */
gboolean erdma_nic_is_primary(const ErdmaPlanInput *in, const RdmadLink *link);
/* Returns whether all of a route's traffic uses the link. */
gboolean erdma_route_is_of(const RdmadRoute *route, int ifindex);

/* routes.c */

/* Selects a metric.  Returns FALSE and refuses `plan` if none is left.  `to`: a network, or prefix
 * 0 for the default route. */
gboolean erdma_plan_metric(Planner *planner, const RdmadIp *to, guint32 *metric);
/* Raises the metric of the network route of an address of the link, if necessary. */
gboolean erdma_plan_prefix(Planner *planner, const RdmadAddress *address);
gboolean erdma_plan_default(Planner *planner, int family);
void erdma_plan_policy(Planner *planner);

/* Append a step in the host to the plan, and to the removals at its end. */
RdmadStep *erdma_plan_step(Planner *planner, RdmadStepKind kind);
RdmadStep *erdma_plan_last(Planner *planner, RdmadStepKind kind);
