/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NICs: watches the host's network and the inventory, and keeps the interfaces of eRDMA devices
 * configured
 *
 * Each change triggers a look: a worker reads the network, the planner compares (plan.h), the
 * executor runs the steps of one NIC, and the next look verifies them.
 */
#pragma once

#include <rdmad/executor.h>
#include <rdmad/types.h>

#include "nic/nic-settings.h"

typedef struct ErdmaNics ErdmaNics;

/* `settings` must live until the next reload. */
ErdmaNics *erdma_nics_new(RdmadModule *self, const ErdmaNicSettings *settings,
			  RdmadExecutor *executor, GError **error);
/* The interfaces stay configured.  `nics` may be NULL. */
void erdma_nics_free(ErdmaNics *nics);
void erdma_nics_reload(ErdmaNics *nics, const ErdmaNicSettings *settings);
/* Returns a list for the module's status. */
struct json_t *erdma_nics_status(const ErdmaNics *nics);
void erdma_nics_doctor(const ErdmaNics *nics, struct json_t *findings);
