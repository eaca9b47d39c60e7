/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver/plan.h"
#include "support/unit.h"

static char *installer[] = { (char *)"/opt/install", NULL };

typedef struct {
	const char *name;
	ErdmaPrefer prefer;
	ErdmaLoadWith load_with;
	gboolean can_install;
	ErdmaPast past;
	ErdmaFacts facts;
	const char *expected; /* what, module, parameter; or what and a part of the reason */
} Case;

#define NIC  .has_nic = TRUE
#define LIVE .has_nic = TRUE, .module = ERDMA_MODULE_LIVE, .devices = 2
#define SMC  .companion = { [ERDMA_COMPANION_SMC] = TRUE }
#define N    .has_modes = TRUE, .mode = ERDMA_MODE_DEFAULT
#define Y    .has_modes = TRUE, .mode = ERDMA_MODE_COMPAT

static const Case cases[] = {
	{ .name = "no NIC", .expected = "nothing: no elastic RDMA NIC" },
	{ .name = "no NIC and a driver",
	  .facts = { .module = ERDMA_MODULE_LIVE },
	  .expected = "nothing: no elastic RDMA NIC" },
	{ .name = "coming", .facts = { NIC, .module = ERDMA_MODULE_COMING }, .expected = "wait" },
	{ .name = "going", .facts = { NIC, .module = ERDMA_MODULE_GOING }, .expected = "wait" },
	{ .name = "auto without GPU", .facts = { NIC }, .expected = "load erdma" },
	{ .name = "auto with a GPU",
	  .facts = { NIC, .has_gpu = TRUE },
	  .expected = "load erdma compat_mode=Y" },
	{ .name = "default",
	  .prefer = ERDMA_PREFER_DEFAULT,
	  .facts = { NIC },
	  .expected = "load erdma compat_mode=N" },
	{ .name = "compat",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .facts = { NIC, .file = RDMAD_KERNEL_MODULE_THERE },
	  .expected = "load erdma compat_mode=Y" },
	{ .name = "no file",
	  .facts = { NIC, .file = RDMAD_KERNEL_MODULE_MISSING },
	  .expected = "fail: no installer" },
	{ .name = "no file but an installer",
	  .can_install = TRUE,
	  .facts = { NIC, .file = RDMAD_KERNEL_MODULE_MISSING },
	  .expected = "install" },
	{ .name = "left to others",
	  .load_with = ERDMA_LOAD_NONE,
	  .can_install = TRUE,
	  .facts = { NIC, .file = RDMAD_KERNEL_MODULE_MISSING },
	  .expected = "fail: leaves it to others" },
	{ .name = "auto takes what there is",
	  .facts = { LIVE, Y, SMC, .companion_file = { 0, RDMAD_KERNEL_MODULE_MISSING } },
	  .expected = "ready" },
	{ .name = "auto with a GPU does not unload",
	  .facts = { LIVE, N, SMC, .has_gpu = TRUE },
	  .expected = "ready" },
	{ .name = "other mode",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .facts = { LIVE, N, SMC },
	  .expected = "unload" },
	{ .name = "other mode, left to others",
	  .prefer = ERDMA_PREFER_DEFAULT,
	  .load_with = ERDMA_LOAD_NONE,
	  .facts = { LIVE, Y },
	  .expected = "fail: is loaded in mode compat, not default" },
	{ .name = "compat for ofed",
	  .prefer = ERDMA_PREFER_OFED,
	  .facts = { LIVE, Y, .companion_file = { 0, RDMAD_KERNEL_MODULE_MISSING } },
	  .expected = "ready" },
	{ .name = "the kernel's own, another mode",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .facts = { LIVE, .mode = ERDMA_MODE_DEFAULT },
	  .expected = "fail: it is the kernel's own driver" },
	{ .name = "the kernel's own, no device yet",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .facts = { NIC, .module = ERDMA_MODULE_LIVE, SMC,
		     .companion_file = { 0, RDMAD_KERNEL_MODULE_MISSING } },
	  .expected = "ready: has no RDMA device" },
	{ .name = "the kernel's own, an installer",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .can_install = TRUE,
	  .facts = { LIVE, .mode = ERDMA_MODE_DEFAULT },
	  .expected = "install" },
	{ .name = "the kernel's own, after the installer",
	  .prefer = ERDMA_PREFER_COMPAT,
	  .can_install = TRUE,
	  .past = { .installed = TRUE },
	  .facts = { LIVE, .mode = ERDMA_MODE_DEFAULT },
	  .expected = "unload" },
	{ .name = "smc", .facts = { LIVE, N }, .expected = "load smc" },
	{ .name = "smc given up",
	  .past = { .given_up = 1 << ERDMA_COMPANION_SMC },
	  .facts = { LIVE, N },
	  .expected = "ready" },
	{ .name = "a kernel without smc",
	  .facts = { LIVE, N, .companion_file = { RDMAD_KERNEL_MODULE_MISSING } },
	  .expected = "ready" },
	{ .name = "smc left to others",
	  .load_with = ERDMA_LOAD_NONE,
	  .facts = { LIVE, N },
	  .expected = "ready" },
	{ .name = "peermem", .facts = { LIVE, Y, SMC }, .expected = "load nvidia_peermem" },
	{ .name = "no smc with OFED",
	  .facts = { LIVE, .has_modes = TRUE, .mode = ERDMA_MODE_OFED },
	  .expected = "load nvidia_peermem" },
	{ .name = "no device",
	  .facts = { NIC, .module = ERDMA_MODULE_LIVE, N, SMC },
	  .expected = "ready: has no RDMA device" },
};

static char *plan_text(const ErdmaPlan *plan)
{
	static const char *const names[] = { "nothing", "wait", "install", "load",
					     "unload",	"fail", "ready" };
	GString *text = g_string_new(names[plan->what]);

	if (plan->module)
		g_string_append_printf(text, " %s", plan->module);
	if (plan->parameter)
		g_string_append_printf(text, " %s", plan->parameter);
	if (plan->reason)
		g_string_append_printf(text, ": %s", plan->reason);
	return g_string_free(text, FALSE);
}

static void test_plan(gconstpointer data)
{
	const Case *c = data;
	const ErdmaDriverSettings settings = {
		.prefer = c->prefer,
		.load_with = c->load_with,
		.module = (char *)"erdma",
		.pci_device = (char *)"1ded:107f",
		.install_command = c->can_install ? installer : NULL,
	};
	g_auto(ErdmaPlan) plan = erdma_plan_make(&c->facts, &settings, &c->past);
	g_autofree char *text = plan_text(&plan);
	const char *colon = strstr(c->expected, ": ");

	g_test_message("%s", text);
	if (!colon) {
		g_assert_cmpstr(text, ==, c->expected);
		return;
	}
	g_assert_cmpint(strncmp(text, c->expected, (gsize)(colon + 2 - c->expected)), ==, 0);
	g_assert_nonnull(strstr(text, colon + 2));
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma/plan/", cases, test_plan),
	{ 0 },
};
