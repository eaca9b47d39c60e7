/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/plan.h"

/* AUTO keeps the mode of a loaded driver, and never unloads it. */
static ErdmaMode mode_preferred(const ErdmaFacts *facts, ErdmaPrefer prefer)
{
	switch (prefer) {
	case ERDMA_PREFER_DEFAULT:
		return ERDMA_MODE_DEFAULT;
	case ERDMA_PREFER_COMPAT:
		return ERDMA_MODE_COMPAT;
	case ERDMA_PREFER_OFED:
		return ERDMA_MODE_OFED;
	case ERDMA_PREFER_AUTO:
		break;
	}
	if (facts->module == ERDMA_MODULE_LIVE)
		return facts->mode;
	return facts->has_gpu ? ERDMA_MODE_OFED : ERDMA_MODE_DEFAULT;
}

/* Both RoCE modes are compat_mode=Y: the installer provides the layers below the driver. */
static gboolean mode_is_roce(ErdmaMode mode)
{
	return mode == ERDMA_MODE_COMPAT || mode == ERDMA_MODE_OFED;
}

/* The parameter of the default mode is passed explicitly, because modprobe.d may set another. */
static const char *mode_parameter(ErdmaMode mode, ErdmaPrefer prefer)
{
	if (mode_is_roce(mode))
		return ERDMA_PARAMETER_COMPAT;
	return prefer == ERDMA_PREFER_AUTO ? NULL : ERDMA_PARAMETER_DEFAULT;
}

/* smc-tools do not work with OFED's smc.ko, and the kernel's smc cannot use RDMA devices of
 * OFED. */
static gboolean mode_needs(ErdmaMode mode, ErdmaCompanion companion)
{
	return companion == ERDMA_COMPANION_SMC ? mode != ERDMA_MODE_OFED : mode_is_roce(mode);
}

static gboolean can_install(const ErdmaDriverSettings *settings)
{
	return settings->install_command && settings->install_command[0];
}

static void plan_fail(ErdmaPlan *plan, char *reason)
{
	plan->what = ERDMA_DO_FAIL;
	plan->reason = reason;
}

/* Plans the modules beside the driver, which is loaded in its mode. */
static void plan_companion(ErdmaPlan *plan, const ErdmaFacts *facts,
			   const ErdmaDriverSettings *settings, const ErdmaPast *past)
{
	for (guint i = 0; i < ERDMA_COMPANION_COUNT; i++) {
		if (!mode_needs(plan->mode, i) || facts->companion[i] ||
		    facts->companion_file[i] == RDMAD_KERNEL_MODULE_MISSING ||
		    (past->given_up & 1u << i) || settings->load_with == ERDMA_LOAD_NONE)
			continue;
		plan->what = ERDMA_DO_LOAD;
		plan->module = erdma_companion_names[i];
		return;
	}
	plan->what = ERDMA_DO_READY;
	if (facts->devices == 0)
		plan->reason = g_strdup_printf(
			"%s is loaded, but has no RDMA device: is its network interface "
			"in another network namespace?",
			settings->module);
}

/* Plans the change of a loaded driver's mode. */
static void plan_switch(ErdmaPlan *plan, const ErdmaFacts *facts,
			const ErdmaDriverSettings *settings, const ErdmaPast *past)
{
	const char *want = erdma_mode_names[plan->mode];

	if (settings->load_with == ERDMA_LOAD_NONE)
		plan_fail(plan,
			  g_strdup_printf("%s is loaded in mode %s, not %s, and load_with = "
					  "\"none\" leaves it to others",
					  settings->module, erdma_mode_names[facts->mode], want));
	else if (facts->has_modes || past->installed)
		plan->what = ERDMA_DO_UNLOAD;
	else if (can_install(settings))
		plan->what = ERDMA_DO_INSTALL;
	else
		plan_fail(plan, g_strdup_printf("%s is loaded, but has no mode %s: it is the "
						"kernel's own driver, not Alibaba Cloud's",
						settings->module, want));
}

static void plan_load(ErdmaPlan *plan, const ErdmaFacts *facts, const ErdmaDriverSettings *settings)
{
	if (settings->load_with == ERDMA_LOAD_NONE) {
		plan_fail(plan, g_strdup_printf("%s is not loaded, and load_with = \"none\" leaves "
						"it to others",
						settings->module));
	} else if (facts->file != RDMAD_KERNEL_MODULE_MISSING) {
		plan->what = ERDMA_DO_LOAD;
		plan->module = settings->module;
		plan->parameter = mode_parameter(plan->mode, settings->prefer);
	} else if (can_install(settings)) {
		plan->what = ERDMA_DO_INSTALL;
	} else {
		plan_fail(plan, g_strdup_printf("this kernel has no module %s, and no installer is "
						"configured",
						settings->module));
	}
}

ErdmaPlan erdma_plan_make(const ErdmaFacts *facts, const ErdmaDriverSettings *settings,
			  const ErdmaPast *past)
{
	ErdmaPlan plan = { .mode = mode_preferred(facts, settings->prefer) };

	if (facts->module == ERDMA_MODULE_COMING || facts->module == ERDMA_MODULE_GOING) {
		plan.what = ERDMA_DO_WAIT;
	} else if (!facts->has_nic) {
		plan.what = ERDMA_DO_NOTHING;
		plan.reason = g_strdup_printf("this node has no elastic RDMA NIC (PCI device %s)",
					      settings->pci_device);
	} else if (facts->module == ERDMA_MODULE_ABSENT) {
		plan_load(&plan, facts, settings);
	} else if (facts->mode != ERDMA_MODE_UNKNOWN &&
		   mode_is_roce(facts->mode) != mode_is_roce(plan.mode)) {
		plan_switch(&plan, facts, settings, past);
	} else {
		plan_companion(&plan, facts, settings, past);
	}
	return plan;
}

void erdma_plan_clear(ErdmaPlan *plan)
{
	g_clear_pointer(&plan->reason, g_free);
}
