/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the planner: a plan in the making. */
#pragma once

#include <rdmad/step.h>

#include "nic/plan.h"

typedef struct {
	const ErdmaPlanInput *in;
	const RdmadLink *link;
	ErdmaPlan *plan;
	GPtrArray *last; /* of RdmadStep: removals, done when all else is there */
} Planner;

/* owner.c: READY where the NIC is rdmad's to configure; otherwise `reason` is set. */
ErdmaNicState erdma_plan_owner(const ErdmaPlanInput *in, const RdmadLink *link, char **reason);
/* Whether a route of the main table is a default route of its family. */
gboolean erdma_route_is_default(const RdmadRoute *route);
/* Whether its default route, one that rdmad did not make, is before those of other links. */
gboolean erdma_default_is_first(const ErdmaView *view, int ifindex);
/* Whether all of a route's traffic goes through the link. */
gboolean erdma_route_is_of(const RdmadRoute *route, int ifindex);

/* routes.c */

/* FALSE: no metric is left, and `plan` is refused.  `to`: a network, or prefix 0 for the default route. */
gboolean erdma_plan_metric(Planner *planner, const RdmadIp *to, guint32 *metric);
/* Raises the metric of the network of an address that the link has. */
gboolean erdma_plan_prefix(Planner *planner, const RdmadAddress *address);
gboolean erdma_plan_default(Planner *planner, int family);
void erdma_plan_policy(Planner *planner);

/* Appends a step of the host to the plan, and to what is done last. */
RdmadStep *erdma_plan_step(Planner *planner, RdmadStepKind kind);
RdmadStep *erdma_plan_last(Planner *planner, RdmadStepKind kind);
