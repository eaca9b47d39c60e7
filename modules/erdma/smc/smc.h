/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SMC-R: enabled for the pods that request it by their annotation
 *
 * The pod's annotations are known when its container starts (preparations.h).  The RDMA device of
 * its allocation and the interface of its pod get one PNETID, the host gets an EID, and, if the
 * kernel has it, the sysctl is set that turns the TCP sockets of the pod's namespace into SMC
 * sockets.
 */
#pragma once

#include <rdmad/executor.h>

#include "driver/driver.h"
#include "smc/smc-settings.h"

typedef struct ErdmaSmc ErdmaSmc;

/* `settings` must live until the next reload, the executor longer than this object. */
ErdmaSmc *erdma_smc_new(RdmadModule *self, const ErdmaSmcSettings *settings,
			RdmadExecutor *executor, GError **error);
/* Pods with SMC-R keep it. */
void erdma_smc_reload(ErdmaSmc *smc, const ErdmaSmcSettings *settings);
/* `smc` may be NULL. */
void erdma_smc_free(ErdmaSmc *smc);

struct json_t *erdma_smc_status(const ErdmaSmc *smc);
void erdma_smc_doctor(const ErdmaSmc *smc, const ErdmaDriver *driver, struct json_t *findings);

/* ---- for tests ---- */

/* Parses the annotation as Go's ParseBool does; NULL: absent.  Returns FALSE if it is not a
 * boolean. */
gboolean erdma_smc_annotation_parse(const char *text, gboolean *wanted);
