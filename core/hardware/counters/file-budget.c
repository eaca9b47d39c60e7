/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "hardware/counters/kept-files.h"

/* The budget is at most this fraction of the process's descriptors. */
#define LIMIT_SHARE 4

struct RdmadFileBudget {
	gatomicrefcount refs;
	int max, used; /* atomic */
};

RdmadFileBudget *rdmad_file_budget_new(guint max)
{
	RdmadFileBudget *budget = g_new0(RdmadFileBudget, 1);

	g_atomic_ref_count_init(&budget->refs);
	rdmad_file_budget_set_max(budget, max);
	return budget;
}

RdmadFileBudget *rdmad_file_budget_ref(RdmadFileBudget *budget)
{
	g_atomic_ref_count_inc(&budget->refs);
	return budget;
}

void rdmad_file_budget_unref(RdmadFileBudget *budget)
{
	if (budget && g_atomic_ref_count_dec(&budget->refs))
		g_free(budget);
}

void rdmad_file_budget_set_max(RdmadFileBudget *budget, guint max)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / LIMIT_SHARE < max)
		max = (guint)(limit.rlim_cur / LIMIT_SHARE);
	g_atomic_int_set(&budget->max, (int)MIN(max, G_MAXINT));
}

guint rdmad_file_budget_used(const RdmadFileBudget *budget)
{
	return (guint)g_atomic_int_get(&budget->used);
}

void rdmad_file_budget_give(RdmadFileBudget *budget)
{
	g_atomic_int_add(&budget->used, -1);
}

gboolean rdmad_file_budget_take(RdmadFileBudget *budget)
{
	if (g_atomic_int_add(&budget->used, 1) < g_atomic_int_get(&budget->max))
		return TRUE;
	rdmad_file_budget_give(budget);
	return FALSE;
}

gboolean rdmad_file_budget_is_exceeded(const RdmadFileBudget *budget)
{
	return g_atomic_int_get(&budget->used) > g_atomic_int_get(&budget->max);
}
