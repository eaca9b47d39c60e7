/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/json.h>
#include <rdmad/step.h>
#include <string.h>

#include "network/perform.h"

struct PerformPlan {
	RdmadExecute what;
	GPtrArray *steps; /* of RdmadStep */
	guint next; /* index of the next step to do; for an undo, one above the next step to undo */
	gboolean goes_back; /* a step failed, and the previous ones are being undone */
	json_t *reports;
	GError *error, *left;
};

PerformPlan *perform_plan_new(RdmadExecute what, const char *text, GError **error)
{
	GPtrArray *steps = rdmad_steps_from_text(text, strlen(text), error);
	PerformPlan *plan;

	if (!steps)
		return NULL;
	plan = g_new0(PerformPlan, 1);
	plan->what = what;
	plan->steps = steps;
	plan->next = what == RDMAD_EXECUTE_UNDO ? steps->len : 0;
	plan->reports = json_array();
	return plan;
}

void perform_plan_free(PerformPlan *plan)
{
	if (!plan)
		return;
	g_ptr_array_unref(plan->steps);
	json_decref(plan->reports);
	g_clear_error(&plan->error);
	g_clear_error(&plan->left);
	g_free(plan);
}

static void report_add(PerformPlan *plan, const RdmadStep *step, gint64 began_us, int result,
		       const GError *error)
{
	json_array_append_new(plan->reports,
			      json_pack("{s:s, s:I, s:i, s:o?}", "step",
					rdmad_step_name(step->kind), "us",
					(json_int_t)(rdmad_now_us() - began_us), "result", result,
					"error", error ? rdmad_json_string(error->message) : NULL));
}

/* Continues after errors; keeps the first one. */
static void undo_next(PerformPlan *plan, const PerformContext *ctx)
{
	static const int never = 0;
	GError **first = plan->goes_back ? &plan->left : &plan->error;
	const RdmadStep *step = plan->steps->pdata[--plan->next];
	const gint64 began_us = rdmad_now_us();
	PerformContext patient = *ctx;
	g_autoptr(GError) why = NULL;

	patient.cancelled = &never;
	perform_undo(&patient, step, &why);
	if (!plan->goes_back)
		report_add(plan, step, began_us, -1, why);
	if (why && !*first)
		*first = g_steal_pointer(&why);
}

static void do_next(PerformPlan *plan, const PerformContext *ctx)
{
	const RdmadStep *step = plan->steps->pdata[plan->next++];
	const gint64 began_us = rdmad_now_us();
	int result = -1;

	if (g_atomic_int_get(ctx->cancelled))
		g_set_error_literal(&plan->error, RDMAD_ERROR, RDMAD_ERROR_CANCELLED,
				    "the caller has gone");
	else
		perform_do(ctx, step, &result, &plan->error);
	report_add(plan, step, began_us, result, plan->error);
	/* The failed step may have been done partly, so it is undone too. */
	plan->goes_back = plan->error && plan->what == RDMAD_EXECUTE_DO;
}

gboolean perform_plan_next(PerformPlan *plan, const PerformContext *ctx)
{
	const gboolean undoes = plan->goes_back || plan->what == RDMAD_EXECUTE_UNDO;

	if (undoes ? plan->next == 0 : plan->error || plan->next == plan->steps->len)
		return FALSE;
	if (undoes)
		undo_next(plan, ctx);
	else
		do_next(plan, ctx);
	return TRUE;
}

void perform_plan_report(const PerformPlan *plan, json_t *answer)
{
	json_object_set(answer, "reports", plan->reports);
	if (plan->left)
		json_object_set_new(answer, "left", rdmad_json_string(plan->left->message));
	if (!plan->error)
		return;
	json_object_set_new(answer, "error", rdmad_json_string(plan->error->message));
	json_object_set_new(answer, "code", json_integer(plan->error->code));
}
