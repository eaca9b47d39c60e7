/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods with SMC-R, and what was made in the host's namespace for them: the journal
 *
 * A row is written before its steps are done.  An entry of the host is shared by pods, and goes with the
 * last one; entries that others had made before are in no row.
 */
#pragma once

#include <rdmad/netns.h>
#include <rdmad/types.h>

typedef enum {
	ERDMA_SMC_BEGUN,       /* its steps may be done in part */
	ERDMA_SMC_TRANSPARENT, /* TCP connections become SMC */
	ERDMA_SMC_PREPARED,    /* sockets of SMC work: smc_run, IPPROTO_SMC */
	ERDMA_SMC_TCP,	       /* it was asked for and cannot be had */
	ERDMA_N_SMC_STATES,
} ErdmaSmcState;

const char *erdma_smc_state_name(ErdmaSmcState state);

typedef struct {
	char *uid;
	char *name;  /* "namespace/pod" */
	char *netns; /* path */
	RdmadNetnsId netns_id;
	char *device, *pnetid; /* RDMA device; NULL with TCP where it was not found */
	char *interface;       /* NULL: not known */
	ErdmaSmcState state;
	char *reason; /* TCP, or the note of PREPARED */
	char *steps;  /* in its namespace; NULL: none */
} ErdmaSmcPod;

void erdma_smc_pod_free(gpointer pod);

typedef struct ErdmaSmcPods ErdmaSmcPods;

ErdmaSmcPods *erdma_smc_pods_open(RdmadModule *self, GError **error);
void erdma_smc_pods_close(ErdmaSmcPods *pods);

/* Of ErdmaSmcPod, borrowed. */
const GPtrArray *erdma_smc_pods_all(const ErdmaSmcPods *pods);
ErdmaSmcPod *erdma_smc_pods_find(const ErdmaSmcPods *pods, const char *uid);
/* Takes `pod` over, and the place of the one with its uid.  It is kept also where it cannot be written. */
gboolean erdma_smc_pods_put(ErdmaSmcPods *pods, ErdmaSmcPod *pod, GError **error);
gboolean erdma_smc_pods_remove(ErdmaSmcPods *pods, const char *uid, GError **error);

/* Entries of the host, by PNETID or EID, and the step of each. */
gboolean erdma_smc_host_add(ErdmaSmcPods *pods, const char *id, const char *step, GError **error);
/* A list of ids (g_strfreev()) that no pod but `except` needs; their steps are added to `steps`, or nowhere: NULL. */
char **erdma_smc_host_idle(const ErdmaSmcPods *pods, const char *except, GPtrArray *steps);
gboolean erdma_smc_host_remove(ErdmaSmcPods *pods, char *const *ids, GError **error);
