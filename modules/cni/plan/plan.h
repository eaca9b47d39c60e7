/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the steps of an ADD for one NIC, made from a view alone
 *
 * The results of IPAM are part of the input.  A plan can be executed unless the host or the pod
 * changes meanwhile; a known obstacle is an error with a message for the user.
 */
#pragma once

#include "choice.h"
#include "view.h"

typedef struct {
	const CniSettings *settings;
	const CniRequest *request;
	const CniChoice *choice;
	const CniView *host, *pod;
	const CniResult *ipam;	 /* NULL: the network has no IPAM */
	guint number;		 /* NICs planned before it in this request */
	gboolean rdma_exclusive; /* netns mode of the RDMA subsystem */
	CniGids gids;
} CniPlanInput;

typedef struct {
	GPtrArray *steps;  /* of RdmadStep */
	CniResult *result; /* of this NIC only */
	guint32 table;	   /* of its routes; 0: none */
	char *rdma_device; /* name in the pod */
} CniPlan;

/* CNI_ERROR_CONFIG, CNI_ERROR_DEVICE, CNI_ERROR_HELD, CNI_ERROR_EXISTS, CNI_ERROR_ADDRESS,
 * CNI_ERROR_RDMA. */
CniPlan *cni_plan_make(const CniPlanInput *input, GError **error);
void cni_plan_free(CniPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniPlan, cni_plan_free)
