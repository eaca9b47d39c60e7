/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SMC-R: on for the pods that ask for it by their annotation
 *
 * At the start of a container (preparations.h) its pod's annotations are known.  The RDMA device of its
 * allocation and the interface of its pod get one PNETID, the machine an EID, and the pod's namespace the
 * sysctl by which TCP sockets become those of SMC, where the kernel has it.
 */
#pragma once

#include <rdmad/executor.h>

#include "driver/driver.h"
#include "smc/smc-settings.h"

typedef struct ErdmaSmc ErdmaSmc;

/* `settings` must live until it is replaced; the executor until after the end. */
ErdmaSmc *erdma_smc_new(RdmadModule *self, const ErdmaSmcSettings *settings,
			RdmadExecutor *executor, GError **error);
/* Pods that have it keep it. */
void erdma_smc_reload(ErdmaSmc *smc, const ErdmaSmcSettings *settings);
/* NULL is fine. */
void erdma_smc_free(ErdmaSmc *smc);

struct json_t *erdma_smc_status(const ErdmaSmc *smc);
void erdma_smc_doctor(const ErdmaSmc *smc, const ErdmaDriver *driver, struct json_t *findings);

/* ---- for tests ---- */

/* The value of the annotation, as Go's ParseBool takes it; NULL: there is none.  FALSE: it is not a truth
 * value. */
gboolean erdma_smc_annotation_parse(const char *text, gboolean *wanted);
