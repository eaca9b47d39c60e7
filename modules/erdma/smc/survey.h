/* SPDX-License-Identifier: Apache-2.0 */
/* Survey: the sockets of SMC in the namespaces of all pods that have it, as they are now. */
#pragma once

#include <rdmad/executor.h>

#include "smc/smc-pods.h"

typedef struct {
	char *uid, *pod;
	GPtrArray *sockets; /* of RdmadSmcSocket; NULL: they could not be listed, see `problem` */
	char *problem;
} ErdmaSmcListing;

typedef struct ErdmaSmcSurvey ErdmaSmcSurvey;

/* `done` is called from the loop with an array of ErdmaSmcListing, valid during the call. */
ErdmaSmcSurvey *erdma_smc_survey_new(RdmadModule *self, RdmadExecutor *executor,
				     const ErdmaSmcPods *pods,
				     void (*done)(const GPtrArray *listings, gpointer data),
				     gpointer data);
/* NULL is fine. */
void erdma_smc_survey_free(ErdmaSmcSurvey *survey);
/* Begins one, unless one is under way. */
void erdma_smc_survey_begin(ErdmaSmcSurvey *survey);
