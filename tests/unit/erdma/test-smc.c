/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation of SMC-R, its options, the sysctls of a pod, and the names that the kernel
 * takes. */
#include <rdmad/error.h>
#include <rdmad/smc.h>
#include <rdmad/step.h>
#include <string.h>

#include "config/config-private.h"
#include "settings.h"
#include "smc/pod-steps.h"
#include "smc/smc-look.h"
#include "smc/smc.h"
#include "support/descriptors.h"
#include "support/unit.h"

typedef struct {
	const char *name, *text;
	gboolean wanted, known;
} Annotation;

static const Annotation annotations[] = {
	{ "none", NULL, FALSE, TRUE },	      { "true", "true", TRUE, TRUE },
	{ "True", "True", TRUE, TRUE },	      { "one", "1", TRUE, TRUE },
	{ "false", "false", FALSE, TRUE },    { "zero", "0", FALSE, TRUE },
	{ "empty", "", FALSE, FALSE },	      { "yes", "yes", FALSE, FALSE },
	{ "a space", "true ", FALSE, FALSE }, { "mixed", "tRUE", FALSE, FALSE },
};

static void test_annotation(gconstpointer data)
{
	const Annotation *row = data;
	gboolean wanted = TRUE;

	g_assert_cmpint(erdma_smc_annotation_parse(row->text, &wanted), ==, row->known);
	g_assert_cmpint(wanted, ==, row->wanted);
}

typedef struct {
	const char *name, *text, *message; /* message NULL: it is fine */
} Options;

static const Options options[] = {
	{ "none", "", NULL },
	{ "all",
	  "mode = \"require\"; eid = \"A-1.B\"; interface = \"eth1\"; tcp2smc = false; "
	  "disable_ipv6 = true; survey = \"1m\";",
	  NULL },
	{ "no EID", "eid = \"\";", NULL },
	{ "mode", "mode = \"on\";", "mode" },
	{ "EID in lower case", "eid = \"rdmad\";", "must be 1 to 32 of" },
	{ "EID with two dots", "eid = \"A..B\";", "must be 1 to 32 of" },
	{ "EID that begins with a hyphen", "eid = \"-A\";", "must be 1 to 32 of" },
	{ "long EID", "eid = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\";", "eid" },
	{ "interface", "interface = \"eth%d\";", "is not an interface name" },
	{ "survey", "survey = 0;", "survey" },
	{ "unknown", "pnetid = \"X\";", "pnetid" },
};

static void test_options(gconstpointer data)
{
	const Options *row = data;
	g_autofree char *whole = g_strdup_printf("erdma = { smc = { %s }; };", row->text);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), &error);
	g_autoptr(ErdmaSettings) settings = NULL;

	g_assert_no_error(error);
	settings = erdma_settings_parse(rdmad_config_child(rdmad_config_root(config), "erdma"),
					&error);
	if (!row->message) {
		g_assert_no_error(error);
		g_assert_nonnull(settings);
		return;
	}
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_assert_nonnull(strstr(error->message, row->message));
}

static void test_pnetids(void)
{
	g_assert_true(rdmad_smc_pnetid_check("00163E0A0B0C", NULL));
	g_assert_true(rdmad_smc_pnetid_check("ABCDEFGHIJKLMNOP", NULL));
	g_assert_false(rdmad_smc_pnetid_check("ABCDEFGHIJKLMNOPQ", NULL));
	g_assert_false(rdmad_smc_pnetid_check("", NULL));
	g_assert_false(rdmad_smc_pnetid_check("abc", NULL));
	g_assert_false(rdmad_smc_pnetid_check("A B", NULL));
}

static void test_reasons(void)
{
	g_assert_cmpstr(rdmad_smc_reason_name(0x03010000), ==, "peer-without-smc");
	g_assert_cmpstr(rdmad_smc_reason_name(0x03030002), ==, "no-device");
	g_assert_cmpstr(rdmad_smc_reason_name(0xdeadbeef), ==, "other");
}

typedef struct {
	const char *name;
	gboolean wanted;
	const char *now;     /* value that was read */
	const char *earlier; /* original value in the journal; NULL: the pod is new */
	const char *before;  /* expected in the step; NULL: no step */
} Sysctl;

static const Sysctl sysctls[] = {
	{ "not wanted", FALSE, "0", NULL, NULL },
	{ "not in the kernel", TRUE, NULL, NULL, NULL },
	{ "off", TRUE, "0", NULL, "0" },
	{ "on already", TRUE, "1", NULL, "1" },
	{ "set for an earlier container", TRUE, "1", "0", "0" },
	{ "on before the earlier container", TRUE, "1", "1", "1" },
};

static void assert_step(const GPtrArray *steps, guint at, const char *path, const char *before)
{
	const RdmadStep *step = steps->pdata[at];

	g_assert_cmpint(step->kind, ==, RDMAD_STEP_SYSCTL);
	g_assert_cmpint(step->where, ==, RDMAD_STEP_IN_POD);
	g_assert_cmpstr(step->sysctl.path, ==, path);
	g_assert_cmpstr(step->sysctl.value, ==, "1");
	g_assert_cmpstr(step->sysctl.before, ==, before);
}

static void test_the_undo_restores_the_original_value(gconstpointer data)
{
	const Sysctl *row = data;
	const ErdmaSmcNetwork network = { .tcp2smc = (char *)row->now,
					  .disable_ipv6 = (char *)row->now };
	const ErdmaSmcNetwork first = { .tcp2smc = (char *)row->earlier,
					.disable_ipv6 = (char *)row->earlier };
	ErdmaSmcPod pod = { .pnetid = (char *)"00163E0A0B0C", .interface = (char *)"eth0" };
	g_autoptr(GPtrArray) earlier = erdma_smc_pod_steps(&pod, &first, NULL, TRUE, TRUE);
	g_autofree char *text = rdmad_steps_to_text(earlier);
	const ErdmaSmcPod known = { .steps = text };
	g_autoptr(GPtrArray) steps = erdma_smc_pod_steps(
		&pod, &network, row->earlier ? &known : NULL, row->wanted, row->wanted);

	g_assert_cmpint(((RdmadStep *)steps->pdata[0])->kind, ==, RDMAD_STEP_SMC);
	g_assert_cmpuint(steps->len, ==, row->before ? 3 : 1);
	if (!row->before)
		return;
	assert_step(steps, 1, ERDMA_SMC_DISABLE_IPV6, row->before);
	assert_step(steps, 2, ERDMA_SMC_TCP2SMC, row->before);
}

static void assert_ipv6_steps(const GPtrArray *steps, const char *all_before,
			      const char *apart_before)
{
	g_assert_cmpuint(steps->len, ==, 4);
	assert_step(steps, 1, ERDMA_SMC_DEFAULT_IPV6, apart_before);
	assert_step(steps, 2, "net/ipv6/conf/eth1/disable_ipv6", apart_before);
	assert_step(steps, 3, ERDMA_SMC_DISABLE_IPV6, all_before);
}

/* "all" sets each interface, so the undo of "all" comes first: the last step. */
static void test_an_interface_that_differs_is_restored_after_all(void)
{
	static const char *const values[] = { "0", "1" };
	ErdmaSmcPod pod = { .pnetid = (char *)"00163E0A0B0C", .interface = (char *)"eth0" };

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		const char *other = values[!i];
		g_autoptr(GPtrArray) apart = g_ptr_array_new();
		const ErdmaSmcNetwork network = { .disable_ipv6 = (char *)values[i],
						  .ipv6_apart = apart };
		const ErdmaSmcNetwork now = { .disable_ipv6 = (char *)"1" };
		g_autoptr(GPtrArray) first = NULL, second = NULL;
		g_autofree char *text = NULL;
		ErdmaSmcPod known = { 0 };

		g_ptr_array_add(apart, (char *)"default");
		g_ptr_array_add(apart, (char *)"eth1");
		first = erdma_smc_pod_steps(&pod, &network, NULL, FALSE, TRUE);
		assert_ipv6_steps(first, values[i], other);
		known.steps = text = rdmad_steps_to_text(first);
		second = erdma_smc_pod_steps(&pod, &now, &known, FALSE, TRUE);
		assert_ipv6_steps(second, values[i], other);
	}
}

/* Of an undo, and of a set-up. */
static const char *const looked_devices[] = { NULL, "erdma_0" };

static void test_a_lack_of_descriptors_is_no_fact(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(looked_devices); i++) {
		const ErdmaSmcQuery query = { .netns = (char *)"/proc/self/ns/net",
					      .device = (char *)looked_devices[i] };
		g_autoptr(GError) error = NULL;
		const rlim_t before = limit_descriptors(0);

		g_assert_null(erdma_smc_look((gpointer)&query, NULL, &error));
		limit_descriptors(before);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	}
}

static void test_a_namespace_that_is_gone_is_a_fact(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(looked_devices); i++) {
		const ErdmaSmcQuery query = { .netns = (char *)"/proc/self/ns/absent",
					      .device = (char *)looked_devices[i] };
		g_autoptr(GError) error = NULL;
		ErdmaSmcHost *host = erdma_smc_look((gpointer)&query, NULL, &error);

		g_assert_no_error(error);
		g_assert_cmpint(host->netns, ==, -1);
		g_assert_true((host->problem != NULL) == (query.device != NULL));
		erdma_smc_host_free(host);
	}
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma-smc/annotation/", annotations, test_annotation),
	UNIT_CASES("/erdma-smc/options/", options, test_options),
	UNIT_CASES("/erdma-smc/sysctl/", sysctls, test_the_undo_restores_the_original_value),
	UNIT_TEST("/erdma-smc/ipv6", test_an_interface_that_differs_is_restored_after_all),
	UNIT_TEST("/erdma-smc/without-descriptors", test_a_lack_of_descriptors_is_no_fact),
	UNIT_TEST("/erdma-smc/after-the-end", test_a_namespace_that_is_gone_is_a_fact),
	UNIT_TEST("/erdma-smc/pnetids", test_pnetids),
	UNIT_TEST("/erdma-smc/reasons", test_reasons),
	{ 0 },
};
