/* SPDX-License-Identifier: Apache-2.0 */
/* The steps in a pod's namespace that give it SMC-R, each with its undo (pure) */
#pragma once

#include "smc/smc-look.h"
#include "smc/smc-pods.h"

#define ERDMA_SMC_TCP2SMC      "net/smc/tcp2smc"
#define ERDMA_SMC_DISABLE_IPV6 "net/ipv6/conf/all/disable_ipv6"
#define ERDMA_SMC_DEFAULT_IPV6 "net/ipv6/conf/default/disable_ipv6"

/* `network` is as it was read.  `before`: the pod's row in the journal if an earlier container of
 * the pod got SMC-R, else NULL; its steps have the original values of the sysctls. */
GPtrArray *erdma_smc_pod_steps(const ErdmaSmcPod *pod, const ErdmaSmcNetwork *network,
			       const ErdmaSmcPod *before, gboolean tcp2smc, gboolean disable_ipv6);
