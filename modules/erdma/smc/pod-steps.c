/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/pod-steps.h"

#include <rdmad/step.h>
#include <string.h>

/* Returns the original value, which is `now` unless an earlier step has set the sysctl. */
static const char *value_before(const GPtrArray *earlier, const char *path, const char *now)
{
	for (guint i = 0; earlier && i < earlier->len; i++) {
		const RdmadStep *step = earlier->pdata[i];

		if (step->kind == RDMAD_STEP_SYSCTL && g_str_equal(step->sysctl.path, path))
			return step->sysctl.before;
	}
	return now;
}

/* Sets the sysctl to 1, unless the kernel lacks it. */
static void switch_on(GPtrArray *steps, const GPtrArray *earlier, const char *path, const char *now)
{
	RdmadStep *step;

	if (!now)
		return;
	step = rdmad_step_new(RDMAD_STEP_SYSCTL, RDMAD_STEP_IN_POD);
	step->sysctl.path = g_strdup(path);
	step->sysctl.value = g_strdup("1");
	step->sysctl.before = g_strdup(value_before(earlier, path, now));
	g_ptr_array_add(steps, step);
}

/* Returns whether an earlier container of the pod had such steps. */
static gboolean ipv6_repeat(GPtrArray *steps, const GPtrArray *earlier)
{
	const guint n = steps->len;

	for (guint i = 0; earlier && i < earlier->len; i++) {
		const RdmadStep *step = earlier->pdata[i];

		if (step->kind == RDMAD_STEP_SYSCTL &&
		    g_str_has_suffix(step->sysctl.path, "/disable_ipv6"))
			switch_on(steps, NULL, step->sysctl.path, step->sysctl.before);
	}
	return steps->len > n;
}

/* The undo, in reverse order, restores the interfaces that differ after it has set all of them. */
static void ipv6_disable(GPtrArray *steps, const GPtrArray *earlier, const ErdmaSmcNetwork *network)
{
	const GPtrArray *apart = network->ipv6_apart;
	const char *other = g_strcmp0(network->disable_ipv6, "0") == 0 ? "1" : "0";

	if (!network->disable_ipv6 || ipv6_repeat(steps, earlier))
		return;
	for (guint i = 0; apart && i < apart->len; i++) {
		g_autofree char *path =
			g_strdup_printf("net/ipv6/conf/%s/disable_ipv6", (char *)apart->pdata[i]);

		switch_on(steps, NULL, path, other);
	}
	switch_on(steps, NULL, ERDMA_SMC_DISABLE_IPV6, network->disable_ipv6);
}

GPtrArray *erdma_smc_pod_steps(const ErdmaSmcPod *pod, const ErdmaSmcNetwork *network,
			       const ErdmaSmcPod *before, gboolean tcp2smc, gboolean disable_ipv6)
{
	const char *text = before && before->steps ? before->steps : "[]";
	g_autoptr(GPtrArray) earlier = rdmad_steps_from_text(text, strlen(text), NULL);
	GPtrArray *steps = rdmad_steps_new();
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_SMC, RDMAD_STEP_IN_POD);

	step->smc.pnetid = g_strdup(pod->pnetid);
	step->smc.link = g_strdup(pod->interface);
	g_ptr_array_add(steps, step);
	if (disable_ipv6)
		ipv6_disable(steps, earlier, network);
	/* Last, because from then on connections try SMC. */
	if (tcp2smc)
		switch_on(steps, earlier, ERDMA_SMC_TCP2SMC, network->tcp2smc);
	return steps;
}
