/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <jansson.h>
#include <string.h>

#include "view-text.h"
#include "support/unit.h"

#define GOOD                                                                                       \
	"gpu 0\nmlx5_0 gpu=0 net=eth0 0/v1/fe80::1 1/v2/fe80::1 2/v1/10.0.0.1 3/v2/10.0.0.1\n"     \
	"address 10.0.0.1\n"
#define BAD "mlx5_0 net=eth0 0/v1/fe80::1 1/v2/fe80::1\naddress 10.0.0.1\n"
static const NcclPlanLabel LABEL = { "00112233445566aa", 7 };

typedef struct {
	NcclView *view;
	NcclSettings *settings;
	NcclPlan *plan;
} Made;

static Made made(const char *view, const char *settings)
{
	Made m = { view_from_text(view), settings_from_text(settings), NULL };

	m.plan = nccl_plan_new(m.view, NCCL_ALL_VERSIONS, &m.settings->policy);
	return m;
}

static void made_clear(Made *m)
{
	nccl_plan_free(m->plan);
	nccl_settings_free(m->settings);
	nccl_view_free(m->view);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Made, made_clear)

static void test_sh(void)
{
	g_auto(Made) m = made(GOOD, "siblings = ( \"ucx\" );");
	g_autofree char *text = nccl_write_sh(m.plan, &LABEL);

	g_assert_nonnull(strstr(text, "\nexport NCCL_IB_HCA='=mlx5_0:1'\n"));
	g_assert_nonnull(strstr(text, "\nexport NCCL_IB_GID_INDEX='3'\n"));
	g_assert_nonnull(strstr(text, "\nexport UCX_NET_DEVICES='mlx5_0:1'\n"));
	g_assert_nonnull(strstr(text, "\nunset NCCL_IB_ADDR_RANGE\n"));
	g_assert_null(strstr(text, "\nunset NCCL_IB_HCA\n"));
	g_assert_nonnull(strstr(text, "\nunset UCX_IB_ROCE_SUBNETS\n"));
	g_assert_null(strstr(text, "NVSHMEM_"));
	g_assert_true(g_str_has_prefix(text, "# By rdmad, for NCCL 2.18 to 2.32; allocation "
					     "00112233445566aa; generation 7.\n"));
}

/* Stale variables go, and the reason is on stderr, whatever characters it has. */
static void test_sh_refused(void)
{
	g_auto(Made) m = made(BAD, NULL);
	g_autofree char *text = NULL;

	g_free(m.plan->reason);
	m.plan->reason = g_strdup("it's `id` $HOME %s");
	text = nccl_write_sh(m.plan, &LABEL);
	g_assert_null(strstr(text, "export"));
	g_assert_nonnull(strstr(text, "\nunset NCCL_IB_HCA\n"));
	g_assert_nonnull(strstr(text, "\nunset NCCL_IB_GID_INDEX\n"));
	g_assert_nonnull(strstr(text, " 'it'\\''s `id` $HOME %s' >&2\n"));
	/* They are the user's own. */
	g_assert_null(strstr(text, "UCX_"));
}

static void test_unset(void)
{
	g_autofree char *none = nccl_write_unset(0);
	g_autofree char *some = nccl_write_unset(NCCL_SIBLING_UCX | NCCL_SIBLING_OPENMPI);

	g_assert_nonnull(strstr(none, "unset NCCL_IB_HCA\n"));
	g_assert_null(strstr(none, "UCX_"));
	g_assert_nonnull(strstr(some, "\nunset UCX_NET_DEVICES\n"));
	g_assert_nonnull(strstr(some, "\nunset OMPI_MCA_btl_openib_gid_index\n"));
	g_assert_null(strstr(some, "NVSHMEM_"));
	g_assert_null(strstr(some, "FI_VERBS_"));
}

/* nccl.conf takes a quote, a blank and what follows a value as parts of it. */
static void test_conf(void)
{
	g_auto(Made) m = made(GOOD, NULL);
	g_autofree char *text = nccl_write_conf(m.plan, &LABEL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint values = 0;

	for (guint i = 0; lines[i] && lines[i][0]; i++) {
		if (lines[i][0] == '#')
			continue;
		values++;
		g_assert_null(strpbrk(lines[i], " \t\"'\r"));
	}
	g_assert_cmpuint(values, ==, 2);
	g_assert_nonnull(strstr(text, "\nNCCL_IB_HCA==mlx5_0:1\n"));
}

static void test_conf_refused(void)
{
	g_auto(Made) m = made(BAD, NULL);
	g_autofree char *text = nccl_write_conf(m.plan, &LABEL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i] && lines[i][0]; i++)
		g_assert_cmpint(lines[i][0], ==, '#');
	g_assert_nonnull(strstr(text, "\n# Refused: no routable GID: mlx5_0:1: "));
}

/* A name that would be a line of its own: of a shell, and of nccl.conf. */
static void test_bad_names(void)
{
	static const char *const views[] = {
		"x\vNCCL_NET_PLUGIN=evil down 3/v2/10.0.0.1\naddress 10.0.0.1\n",
		"x\vtouch$IFS/tmp/evil 3/v2/10.0.0.1\naddress 10.0.0.1\n",
		"x'\v;id;' 3/v2/10.0.0.1\naddress 10.0.0.1\n",
		"x\xff\v 3/v2/10.0.0.1\naddress 10.0.0.1\n",
	};

	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		/* In the views of these tests a line is a device: "\v" stands for a newline in a
		 * name. */
		g_auto(Made) m = { view_from_text(views[i]), settings_from_text(NULL), NULL };
		RdmadDevice *device = (RdmadDevice *)nccl_view_device(m.view, 0)->device;
		g_autofree char *sh = NULL;
		g_autofree char *conf = NULL;
		json_t *json;

		g_strdelimit(device->name, "\v", '\n');
		m.plan = nccl_plan_new(m.view, NCCL_ALL_VERSIONS, &m.settings->policy);
		sh = nccl_write_sh(m.plan, &LABEL);
		conf = nccl_write_conf(m.plan, &LABEL);
		g_assert_cmpint(m.plan->refusal, !=, NCCL_REFUSAL_NONE);
		g_assert_null(strchr(m.plan->reason, '\n'));
		g_assert_null(strstr(sh, "\nNCCL"));
		g_assert_null(strstr(sh, "\ntouch"));
		g_assert_null(strstr(conf, "\nNCCL"));
		json = nccl_write_json(m.view, &m.settings->policy, m.plan, &LABEL);
		g_assert_cmpuint(json_array_size(json_object_get(json, "rails")), ==, 1);
		json_decref(json);
	}
}

/* The explanation goes to a terminal as it is; a pod may name the interface of its GID. */
static void test_explanation_of_bad_names(void)
{
	g_auto(Made) m = made("x net=e\033[31m\xc2\x9b"
			      "1m 3/v2/10.0.0.1%g\033]0;x\naddress 10.0.0.1\n",
			      NULL);
	g_autofree char *text = nccl_write_explanation(m.view, &m.settings->policy, m.plan);

	g_assert_nonnull(strstr(text, "e?[31m"));
	g_assert_nonnull(strstr(text, "g?]0;x"));
	for (const char *c = text; *c; c = g_utf8_next_char(c))
		g_assert_true(*c == '\n' || !g_unichar_iscntrl(g_utf8_get_char(c)));
}

static void test_json(void)
{
	g_auto(Made) m = made(GOOD, NULL);
	json_t *json = nccl_write_json(m.view, &m.settings->policy, m.plan, &LABEL);
	json_t *rail = json_array_get(json_object_get(json, "rails"), 0);

	g_assert_nonnull(json);
	g_assert_cmpint(json_integer_value(json_object_get(json, "generation")), ==, 7);
	g_assert_cmpstr(
		json_string_value(json_object_get(json_object_get(json, "env"), "NCCL_IB_HCA")), ==,
		"=mlx5_0:1");
	g_assert_false(json_boolean_value(json_object_get(json, "refused")));
	g_assert_cmpstr(json_string_value(json_object_get(rail, "distance")), ==, "PIX");
	g_assert_cmpuint(json_array_size(json_object_get(rail, "gids")), ==, 4);
	json_decref(json);
}

/* 2.18 to 2.20 have one index, 2.21 and newer a range. */
static void test_versions(void)
{
	g_auto(Made) m = made("mlx5_0 4/v2/10.0.0.1\nmlx5_1 3/v2/10.0.0.3\naddress 10.0.0.1\n"
			      "address 10.0.0.3\n",
			      NULL);
	g_autofree char *text = nccl_write_versions(m.view, &m.settings->policy, &LABEL);

	g_assert_nonnull(strstr(text, "\n[18-20]\n[21-32]\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n"));
	g_assert_nonnull(strstr(text, "\nNCCL_IB_ADDR_RANGE=10.0.0.0/30\n"));
}

static void test_explanation(void)
{
	g_auto(Made) m = made(GOOD "mlx5_9 down 3/v2/10.0.9.1\nmlx5_10 iwarp 0/?/1:2:3::\n", NULL);
	g_autofree char *text = nccl_write_explanation(m.view, &m.settings->policy, m.plan);

	g_assert_cmpstr(
		text, ==,
		"NCCL 2.18 to 2.32; 1 of 3 ports selected; 1 address in the namespace\n"
		"\n"
		"mlx5_0:1  selected\n"
		"    RoCE 400 Gb/s, active, eth0, PIX to GPU 0 (0000:01:00.0)\n"
		"      0  v1  fe80::1   eth0  RoCE v1\n"
		"      1  v2  fe80::1   eth0  link-local: not routable\n"
		"      2  v1  10.0.0.1  eth0  RoCE v1\n"
		"      3  v2  10.0.0.1  eth0  selected\n"
		"\n"
		"mlx5_9:1  the port is not active\n"
		"    RoCE 400 Gb/s, down, SYS to the nearest GPU\n"
		"      3  v2  10.0.9.1  -     address of another network namespace\n"
		"\n"
		"mlx5_10:1  iWARP: NCCL needs RoCE or InfiniBand\n"
		"    iWARP 400 Gb/s, active, SYS to the nearest GPU\n"
		"      0  ?   1:2:3::   -     an iWARP MAC address, no GID\n"
		"\n"
		"Warning: not active: mlx5_9:1.\n"
		"\n"
		"NCCL_IB_HCA==mlx5_0:1  the selected port, by its exact name\n"
		"NCCL_IB_GID_INDEX=3    the same index on each port\n"
		"\n"
		"Without settings NCCL 2.32 uses 2 ports; mlx5_10:1: NCCL 2.32 takes GID 0, "
		"1:2:3::.\n");
}

/* A switch above both, and a port alone. */
static void test_topology(void)
{
	g_auto(Made) m = made(GOOD, NULL);
	g_autofree char *text = nccl_write_topology(m.view, m.plan);

	g_assert_cmpstr(text, ==,
			"<system version=\"1\">\n"
			"  <cpu numaid=\"0\">\n"
			"    <pci busid=\"0000:00:01.0\" class=\"0x060400\">\n"
			"      <pci busid=\"0000:01:00.0\" class=\"0x030200\"/>\n"
			"      <pci busid=\"0000:02:00.0\" class=\"0x020000\">\n"
			"        <nic>\n"
			"          <net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\"/>\n"
			"        </nic>\n"
			"      </pci>\n"
			"    </pci>\n"
			"  </cpu>\n"
			"</system>\n");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/write/a shell gets what is set, and loses what is stale", test_sh),
	UNIT_TEST("/write/a refusal leaves a shell nothing", test_sh_refused),
	UNIT_TEST("/write/without a plan only stale variables go", test_unset),
	UNIT_TEST("/write/nccl.conf has no quotes and no blanks", test_conf),
	UNIT_TEST("/write/a refusal is a comment in nccl.conf", test_conf_refused),
	UNIT_TEST("/write/names that are not names stay in their line", test_bad_names),
	UNIT_TEST("/write/names control no terminal", test_explanation_of_bad_names),
	UNIT_TEST("/write/JSON", test_json),
	UNIT_TEST("/write/each version gets its own", test_versions),
	UNIT_TEST("/write/the explanation", test_explanation),
	UNIT_TEST("/write/NCCL_TOPO_FILE", test_topology),
	{ 0 },
};
