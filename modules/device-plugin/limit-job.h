/* SPDX-License-Identifier: Apache-2.0 */
/* Limit job: RDMA limits written by a worker, for cgroupfs may make a writer wait. */
#pragma once

#include <rdmad/module.h>
#include <rdmad/work.h>

#include "rdma-limits.h"

/* What rdmad_limit_job_run() works on: a copy of all of it. */
gpointer rdmad_limit_job_input(RdmadModule *self, const char *pod_uid, char *const *devices,
			       const RdmadRdmaLimits *limits);
void rdmad_limit_job_input_free(gpointer input);

/* For RdmadJobClass; the result is nothing to free.  Errors as rdmad_rdma_limits_write(). */
gpointer rdmad_limit_job_run(gpointer input, const RdmadJob *job, GError **error);
