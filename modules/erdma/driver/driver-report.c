/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/driver-report.h"

#include <jansson.h>
#include <rdmad/doctor.h>

static const char *mode_of(const ErdmaDriverView *view)
{
	return view->facts && view->facts->module == ERDMA_MODULE_LIVE
		       ? erdma_mode_names[view->facts->mode]
		       : NULL;
}

static json_t *companions_json(const ErdmaDriverView *view)
{
	json_t *companions = json_object();

	for (guint i = 0; view->facts && i < ERDMA_COMPANION_COUNT; i++) {
		const char *problem = view->companion_problems[i];

		if (problem || view->facts->companion[i])
			json_object_set_new(companions, erdma_companion_names[i],
					    json_string(problem ?: "loaded"));
	}
	return companions;
}

json_t *erdma_driver_status(const ErdmaDriver *driver, const ErdmaDriverSettings *settings)
{
	const ErdmaDriverView view = erdma_driver_view(driver);

	return json_pack("{s:s, s:s, s:s?, s:s, s:s?, s:o, s:i, s:i, s:f, s:s?}", "state",
			 erdma_driver_state_names[view.state], "module", settings->module, "mode",
			 mode_of(&view), "prefer_driver", erdma_prefer_names[settings->prefer],
			 "reason", view.reason, "companions", companions_json(&view), "devices",
			 view.facts ? (int)view.facts->devices : 0, "failures", (int)view.failures,
			 "retry_seconds", view.retry_ms / 1000.0, "output", view.output);
}

static void doctor_failed(const ErdmaDriverView *view, const ErdmaDriverSettings *settings,
			  json_t *findings)
{
	g_autofree char *text =
		g_strdup_printf("the driver %s is not ready: %s", settings->module, view->reason);
	g_autofree char *advice = NULL;
	const gboolean loaded = view->facts && view->facts->module == ERDMA_MODULE_LIVE;

	if (view->out_of_memory)
		advice = g_strdup(
			"the node has too little free memory, or the limit of rdmad's own cgroup "
			"applies: raise that limit (resources.limits.memory of the chart)");
	else if (loaded)
		advice = g_strdup("end the pods and processes that use it, or set prefer_driver to "
				  "the mode that it has; it goes on working in that mode");
	else if (view->facts && view->facts->file == RDMAD_KERNEL_MODULE_MISSING)
		advice = g_strdup("install it for this kernel, or configure driver.install of the "
				  "module erdma; see rdmad-erdma(7)");
	else
		advice = g_strdup("see `rdmad status --json` for the output of the program, and "
				  "dmesg");
	rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, "erdma", text, advice);
}

static void doctor_companions(const ErdmaDriverView *view, json_t *findings)
{
	static const char *const losses[] = {
		[ERDMA_COMPANION_SMC] = "SMC-R is not available on this node; TCP works",
		[ERDMA_COMPANION_PEERMEM] = "GPUDirect RDMA is not available on this node",
	};

	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++) {
		g_autofree char *text = NULL;

		if (!view->companion_problems[i])
			continue;
		text = g_strdup_printf("%s cannot be loaded: %s", erdma_companion_names[i],
				       view->companion_problems[i]);
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, "erdma", text, losses[i]);
	}
	if (view->state == ERDMA_DRIVER_READY && view->facts->mode != ERDMA_MODE_OFED &&
	    view->facts->companion_file[ERDMA_COMPANION_SMC] == RDMAD_KERNEL_MODULE_MISSING &&
	    !view->facts->companion[ERDMA_COMPANION_SMC])
		rdmad_doctor_add(findings, RDMAD_FINDING_NOTE, "erdma",
				 "this kernel has no module smc", losses[ERDMA_COMPANION_SMC]);
}

void erdma_driver_doctor(const ErdmaDriver *driver, const ErdmaDriverSettings *settings,
			 json_t *findings)
{
	const ErdmaDriverView view = erdma_driver_view(driver);
	g_autofree char *text = NULL;

	if (view.state == ERDMA_DRIVER_FAILED) {
		doctor_failed(&view, settings, findings);
	} else if (view.state == ERDMA_DRIVER_READY) {
		text = g_strdup_printf("the driver %s is loaded in mode %s, with %u devices",
				       settings->module, mode_of(&view), view.facts->devices);
		rdmad_doctor_add(findings, view.reason ? RDMAD_FINDING_PROBLEM : RDMAD_FINDING_OK,
				 "erdma", text, view.reason);
	} else {
		text = g_strdup_printf("the driver %s is %s%s%s", settings->module,
				       erdma_driver_state_names[view.state],
				       view.reason ? ": " : "", view.reason ?: "");
		rdmad_doctor_add(findings, RDMAD_FINDING_NOTE, "erdma", text, NULL);
	}
	doctor_companions(&view, findings);
}

gboolean erdma_driver_ready(const ErdmaDriver *driver, char **why)
{
	const ErdmaDriverView view = erdma_driver_view(driver);

	if (view.state == ERDMA_DRIVER_READY || view.state == ERDMA_DRIVER_ABSENT)
		return TRUE;
	*why = g_strdup_printf("the driver is %s: %s", erdma_driver_state_names[view.state],
			       view.reason ?: "");
	return FALSE;
}
