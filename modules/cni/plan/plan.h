/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the steps of an ADD for one NIC, from a view, without looking at or touching anything
 *
 * IPAM has answered before.  A plan that is made can be carried out unless the world changes; what
 * stands against it now is a refusal, with a sentence for the user.
 */
#pragma once

#include "choice.h"
#include "view.h"

typedef struct {
	const CniSettings *settings;
	const CniRequest *request;
	const CniChoice *choice;
	const CniView *host, *pod;
	const CniResult *ipam;	 /* NULL: the network has none */
	guint number;		 /* NICs that were planned before it in this request */
	gboolean rdma_exclusive; /* netns mode of the RDMA subsystem */
	CniGids gids;
} CniPlanInput;

typedef struct {
	GPtrArray *steps;  /* of RdmadStep */
	CniResult *result; /* of this NIC alone */
	guint32 table;	   /* of its routes; 0: none */
	char *rdma_device; /* as it is called in the pod */
} CniPlan;

/* CNI_ERROR_CONFIG, CNI_ERROR_DEVICE, CNI_ERROR_HELD, CNI_ERROR_EXISTS, CNI_ERROR_ADDRESS,
 * CNI_ERROR_RDMA. */
CniPlan *cni_plan_make(const CniPlanInput *input, GError **error);
void cni_plan_free(CniPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniPlan, cni_plan_free)
