/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journal of SMC-R: the pods that have it, and the entries made in the host's namespace for them
 *
 * A row is written before its steps run.  Pods share an entry of the host, which is removed with
 * the last of them; entries made by others are in no row.
 */
#pragma once

#include <rdmad/netns.h>
#include <rdmad/types.h>

typedef enum {
	ERDMA_SMC_BEGUN,       /* its steps may have been run in part */
	ERDMA_SMC_TRANSPARENT, /* TCP connections use SMC */
	ERDMA_SMC_PREPARED,    /* SMC sockets work: smc_run, IPPROTO_SMC */
	ERDMA_SMC_TCP,	       /* the pod requests SMC-R, which is unavailable */
	ERDMA_N_SMC_STATES,
} ErdmaSmcState;

const char *erdma_smc_state_name(ErdmaSmcState state);

typedef struct {
	char *uid;
	char *name;  /* "namespace/pod" */
	char *netns; /* path */
	RdmadNetnsId netns_id;
	char *device, *pnetid; /* RDMA device; NULL in state TCP if it was not found */
	char *interface;       /* NULL: unknown */
	ErdmaSmcState state;
	char *reason; /* of TCP, or a note on PREPARED */
	char *steps;  /* of its namespace; NULL: none */
} ErdmaSmcPod;

void erdma_smc_pod_free(gpointer pod);
ErdmaSmcPod *erdma_smc_pod_copy(const ErdmaSmcPod *pod);

typedef struct ErdmaSmcPods ErdmaSmcPods;

ErdmaSmcPods *erdma_smc_pods_open(RdmadModule *self, GError **error);
void erdma_smc_pods_close(ErdmaSmcPods *pods);

/* Returns an array of ErdmaSmcPod, borrowed. */
const GPtrArray *erdma_smc_pods_all(const ErdmaSmcPods *pods);
/* Returns whether neither a pod nor an entry of the host is left. */
gboolean erdma_smc_pods_is_empty(const ErdmaSmcPods *pods);
ErdmaSmcPod *erdma_smc_pods_find(const ErdmaSmcPods *pods, const char *uid);
/* Takes ownership of `pod`, which replaces the one with its uid.  It is kept in memory even if the
 * write fails. */
gboolean erdma_smc_pods_put(ErdmaSmcPods *pods, ErdmaSmcPod *pod, GError **error);
gboolean erdma_smc_pods_remove(ErdmaSmcPods *pods, const char *uid, GError **error);

/* Adds an entry of the host, by PNETID or EID, with its step. */
gboolean erdma_smc_host_add(ErdmaSmcPods *pods, const char *id, const char *step, GError **error);
/* Returns the IDs (g_strfreev()) that no pod but `except` needs, and appends their steps to `steps`
 * unless it is NULL. */
char **erdma_smc_host_idle(const ErdmaSmcPods *pods, const char *except, GPtrArray *steps);
gboolean erdma_smc_host_remove(ErdmaSmcPods *pods, char *const *ids, GError **error);
