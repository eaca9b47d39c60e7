/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libibverbs that blocks: a job that opens devices. */
#pragma once

#include <rdmad/types.h>
#include <rdmad/work.h>

struct ibv_context;

/* What is asked for, and what came of it: `context` or `problem` is set by the job. */
typedef struct {
	char *id;   /* stable id */
	char *name; /* kernel name */
	int index;  /* RDMA netlink's, so that a device that came anew is known as such */
	struct ibv_context *context;
	char *problem;
} RdmadVerbsOpen;

RdmadVerbsOpen *rdmad_verbs_open_new(const char *id, const char *name, int index);
/* Closes what is open, which may block. */
void rdmad_verbs_open_free(RdmadVerbsOpen *open);

/* Opens all of `wanted` (GPtrArray of RdmadVerbsOpen).  Worker thread. */
void rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
