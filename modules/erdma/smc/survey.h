/* SPDX-License-Identifier: Apache-2.0 */
/* Survey: lists the SMC sockets in the namespaces of all pods with SMC-R */
#pragma once

#include <rdmad/executor.h>

#include "smc/smc-pods.h"

typedef struct {
	char *uid, *pod;
	GPtrArray *sockets; /* of RdmadSmcSocket; NULL: not listed, see `problem` */
	char *problem;
} ErdmaSmcListing;

typedef struct ErdmaSmcSurvey ErdmaSmcSurvey;

/* Calls `done` on the loop with an array of ErdmaSmcListing, valid during the call. */
ErdmaSmcSurvey *erdma_smc_survey_new(RdmadModule *self, RdmadExecutor *executor,
				     const ErdmaSmcPods *pods,
				     void (*done)(const GPtrArray *listings, gpointer data),
				     gpointer data);
/* `survey` may be NULL. */
void erdma_smc_survey_free(ErdmaSmcSurvey *survey);
/* Starts a survey unless one is running. */
void erdma_smc_survey_begin(ErdmaSmcSurvey *survey);
