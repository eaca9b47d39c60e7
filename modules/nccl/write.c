/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <string.h>

/* The variables that select ports and GIDs, of NCCL (0) or a sibling: one left by an earlier plan
 * would be wrong with those of this one.  Other variables may be the user's own, and stay. */
static const struct {
	guint of; /* NcclSiblings */
	const char *name;
} NAMES[] = {
	{ 0, "NCCL_IB_HCA" },
	{ 0, "NCCL_IB_GID_INDEX" },
	{ 0, "NCCL_IB_ADDR_FAMILY" },
	{ 0, "NCCL_IB_ADDR_RANGE" },
	{ 0, "NCCL_IB_ROCE_VERSION_NUM" },
	{ 0, "NCCL_IB_MERGE_NICS" },
	{ NCCL_SIBLING_UCX, "UCX_NET_DEVICES" },
	{ NCCL_SIBLING_UCX, "UCX_IB_GID_INDEX" },
	{ NCCL_SIBLING_UCX, "UCX_IB_ROCE_SUBNETS" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_ENABLE_NIC_PE_MAPPING" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_HCA_LIST" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_IB_GID_INDEX" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_IB_ADDR_FAMILY" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_IB_ADDR_RANGE" },
	{ NCCL_SIBLING_NVSHMEM, "NVSHMEM_IB_ROCE_VERSION_NUM" },
	{ NCCL_SIBLING_LIBFABRIC, "FI_VERBS_DEVICE_NAME" },
	{ NCCL_SIBLING_LIBFABRIC, "FI_VERBS_GID_IDX" },
	{ NCCL_SIBLING_OPENMPI, "OMPI_MCA_btl_openib_if_include" },
	{ NCCL_SIBLING_OPENMPI, "OMPI_MCA_btl_openib_gid_index" },
};

static void append_versions(GString *text, NcclVersions versions)
{
	g_string_append_printf(text, "NCCL 2.%u", versions.from);
	if (versions.to != versions.from)
		g_string_append_printf(text, " to 2.%u", versions.to);
}

static void append_head(GString *text, const NcclPlan *plan, const NcclPlanLabel *label)
{
	g_string_append(text, "# By rdmad, for ");
	append_versions(text, plan->versions);
	if (label->allocation)
		g_string_append_printf(text, "; allocation %s", label->allocation);
	if (label->generation)
		g_string_append_printf(text, "; generation %" G_GUINT64_FORMAT, label->generation);
	g_string_append(text, ".\n");
	for (guint i = 0; plan->warnings[i]; i++)
		g_string_append_printf(text, "# Warning: %s\n", plan->warnings[i]);
	if (plan->refusal)
		g_string_append_printf(text, NCCL_CONF_REFUSED "%s\n", plan->reason);
}

/* ---- shell ---- */

static gboolean plan_sets(const NcclPlan *plan, const char *name)
{
	return nccl_env_get(plan->env, name) || nccl_env_get(plan->siblings, name);
}

/* `plan` NULL: none. */
static void append_unset(GString *text, const NcclPlan *plan, NcclSiblings siblings)
{
	for (guint i = 0; i < G_N_ELEMENTS(NAMES); i++)
		if ((!NAMES[i].of || siblings & NAMES[i].of) &&
		    !(plan && plan_sets(plan, NAMES[i].name)))
			g_string_append_printf(text, "unset %s\n", NAMES[i].name);
}

char *nccl_write_unset(NcclSiblings siblings)
{
	GString *text = g_string_new(NULL);

	append_unset(text, NULL, siblings);
	return g_string_free(text, FALSE);
}

static void append_exports(GString *text, const NcclEnv *env)
{
	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);

		g_string_append_printf(text, "export %s='%s'\n", variable->name, variable->value);
	}
}

/* "'" has no escape inside quotes, so it ends them, follows escaped, and begins them again. */
static char *shell_quote(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "'", -1);
	g_autofree char *inside = g_strjoinv("'\\''", parts);

	return g_strdup_printf("'%s'", inside);
}

char *nccl_write_sh(const NcclPlan *plan, const NcclPlanLabel *label)
{
	GString *text = g_string_new(NULL);

	append_head(text, plan, label);
	append_unset(text, plan, plan->asked_siblings);
	append_exports(text, plan->env);
	append_exports(text, plan->siblings);
	if (plan->refusal) {
		g_autofree char *reason = shell_quote(plan->reason);

		g_string_append_printf(text, "printf 'rdmad: no NCCL settings: %%s\\n' %s >&2\n",
				       reason);
	}
	return g_string_free(text, FALSE);
}

/* ---- nccl.conf ---- */

static void append_lines(GString *text, const NcclEnv *env)
{
	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);

		g_string_append_printf(text, "%s=%s\n", variable->name, variable->value);
	}
}

char *nccl_write_conf(const NcclPlan *plan, const NcclPlanLabel *label)
{
	GString *text = g_string_new(NULL);

	append_head(text, plan, label);
	g_string_append(text, "# Variables in the environment win.\n");
	append_lines(text, plan->env);
	return g_string_free(text, FALSE);
}

/* ---- one plan for each version ---- */

static void append_section(GString *text, NcclVersions versions, const NcclPlan *plan)
{
	g_string_append_printf(text, "[%u-%u]\n", versions.from, versions.to);
	append_lines(text, plan->env);
}

/* Writes a plan for each older version that the common plan is not right for; consecutive versions
 * with equal plans share a section. */
static void append_older(GString *text, const NcclView *view, const NcclPolicy *policy,
			 guint before)
{
	g_autoptr(NcclPlan) open = NULL; /* of the section not written yet */
	guint from = NCCL_OLDEST;

	for (guint minor = NCCL_OLDEST; minor < before; minor++) {
		g_autoptr(NcclPlan) plan =
			nccl_plan_new(view, (NcclVersions){ minor, minor }, policy);

		if (open && !nccl_env_equal(open->env, plan->env)) {
			append_section(text, (NcclVersions){ from, minor - 1 }, open);
			from = minor;
		}
		g_clear_pointer(&open, nccl_plan_free);
		open = g_steal_pointer(&plan);
	}
	if (open)
		append_section(text, (NcclVersions){ from, before - 1 }, open);
}

/* A refusal for all versions applies to each, because no older version accepts a setting that the
 * newest does not. */
char *nccl_write_versions(const NcclView *view, const NcclPolicy *policy,
			  const NcclPlanLabel *label)
{
	g_autoptr(NcclPlan) plan = nccl_plan_new(view, NCCL_ALL_VERSIONS, policy);
	GString *text = g_string_new(NULL);

	append_head(text, plan, label);
	append_older(text, view, policy, plan->versions.from);
	append_section(text, plan->versions, plan);
	return g_string_free(text, FALSE);
}
