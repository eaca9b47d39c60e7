/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libibverbs that blocks: a job that opens devices and asks for their limits. */
#pragma once

#include <rdmad/types.h>
#include <rdmad/work.h>

#include "hardware/verbs-limits.h"

/* What is asked for, and what came of it: `context` or `problem` is set by the job, and with the
 * context `limits` or `limits_problem`. */
typedef struct {
	char *id;     /* stable id */
	char *name;   /* kernel name */
	char *driver; /* NULL where it is not known */
	int index;    /* RDMA netlink's, so that a device that came anew is known as such */
	struct ibv_context *context;
	char *problem;
	RdmadVerbsLimits *limits;
	char *limits_problem;
} RdmadVerbsOpen;

RdmadVerbsOpen *rdmad_verbs_open_new(const char *id, const char *name, const char *driver,
				     int index);
/* Closes what is open, which may block. */
void rdmad_verbs_open_free(RdmadVerbsOpen *open);

/* Opens all of `wanted` (GPtrArray of RdmadVerbsOpen).  Worker thread. */
void rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
