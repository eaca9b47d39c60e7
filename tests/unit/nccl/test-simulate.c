/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include "view-text.h"
#include "support/unit.h"

/* "mlx5_0:1=3 mlx5_1:1=none" */
static char *outcomes_text(const NcclView *view, const char *env_text, guint minor)
{
	static const char *const KINDS[] = { "", "none", "chance", "fails", "crashes" };
	g_autoptr(NcclEnv) env = env_from_text(env_text);
	g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < outcomes->len; i++) {
		const NcclOutcome *outcome = &g_array_index(outcomes, NcclOutcome, i);

		g_string_append_printf(text, "%s%s:%u=", i ? " " : "", outcome->device->name,
				       outcome->port->number);
		if (outcome->pick.kind == NCCL_PICK_GID)
			g_string_append_printf(text, "%u%s", outcome->pick.index,
					       outcome->pick.gid ? "" : "(empty)");
		else
			g_string_append(text, KINDS[outcome->pick.kind]);
	}
	return g_string_free(text, FALSE);
}

#define MANY                                                                                       \
	"mlx5_1 0/v2/10.0.0.1\nmlx5_10 0/v2/10.0.0.2\nmlx5_11 0/v2/10.0.0.3\n"                     \
	"mlx5_2 0/v2/10.0.0.4\nmlx5_2x port=2 0/v2/10.0.0.5\nmlx5_3 down 0/v2/10.0.0.6\n"

/* NCCL_IB_HCA, from src/misc/utils.cc parseStringList() and matchIfList(). */
static void test_match(void)
{
	static const struct {
		const char *hca;
		guint minor;
		const char *found;
	} cases[] = {
		/* Without "=" an entry is a prefix. */
		{ "mlx5_1", 27, "mlx5_1:1=0 mlx5_10:1=0 mlx5_11:1=0" },
		{ "=mlx5_1", 27, "mlx5_1:1=0" },
		{ "=mlx5_1,mlx5_2", 27, "mlx5_1:1=0 mlx5_2:1=0" },
		{ "=mlx5_2,mlx5_1", 27, "mlx5_1:1=0 mlx5_2:1=0" },
		{ "^mlx5_1", 27, "mlx5_2:1=0 mlx5_2x:2=0" },
		{ "^=mlx5_1", 27, "mlx5_2:1=0 mlx5_2x:2=0 mlx5_10:1=0 mlx5_11:1=0" },
		/* Behind "=" a "^" is skipped, and since 2.30 part of the name. */
		{ "=^mlx5_1", 27, "mlx5_1:1=0" },
		{ "=^mlx5_1", 30, "" },
		{ "mlx5_2:2", 27, "mlx5_2x:2=0" },
		{ "=mlx5_2x:2", 27, "mlx5_2x:2=0" },
		{ "=mlx5_2x:1", 27, "" },
		{ "", 27, "mlx5_1:1=0 mlx5_2:1=0 mlx5_2x:2=0 mlx5_10:1=0 mlx5_11:1=0" },
		{ "=", 27, "mlx5_1:1=0 mlx5_2:1=0 mlx5_2x:2=0 mlx5_10:1=0 mlx5_11:1=0" },
		{ "^", 27, "" },
		{ "=mlx5_1:1:0:0", 30, "mlx5_1:1=0" },
		{ "=mlx5_1:1:0:0", 27, "mlx5_1:1=0" },
		{ "=mlx5_1:", 30, "mlx5_1:1=0" },
		/* Before 2.30 an empty port is port 0, which is none. */
		{ "=mlx5_1:", 29, "" },
		{ "=mlx5_1,,mlx5_2", 27, "mlx5_1:1=0 mlx5_2:1=0" },
		/* The active port alone counts. */
		{ "=mlx5_3", 27, "" },
	};
	g_autoptr(NcclView) view = view_from_text(MANY);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *env =
			g_strdup_printf("NCCL_IB_GID_INDEX=0 NCCL_IB_HCA=%s", cases[i].hca);
		g_autofree char *found = outcomes_text(view, env, cases[i].minor);

		g_test_message("NCCL_IB_HCA=%s, 2.%u", cases[i].hca, cases[i].minor);
		g_assert_cmpstr(found, ==, cases[i].found);
	}
}

static void test_blank_breaks_an_entry(void)
{
	g_autoptr(NcclView) view = view_from_text(MANY);
	g_autoptr(NcclEnv) env = nccl_env_new();
	g_autoptr(GArray) outcomes = NULL;

	nccl_env_set(env, "NCCL_IB_HCA", "=mlx5_1, mlx5_2", "");
	outcomes = nccl_simulate(view, env, 27);
	g_assert_cmpuint(outcomes->len, ==, 1);
}

static void test_limit(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(NcclView) view = NULL;
	g_autoptr(NcclEnv) env = nccl_env_new();

	for (guint i = 0; i < 40; i++)
		g_string_append_printf(text, "mlx5_%u 0/v2/10.0.0.%u\n", i, i + 1);
	view = view_from_text(text->str);
	for (guint minor = 18; minor <= 19; minor++) {
		g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);

		g_assert_cmpuint(outcomes->len, ==, minor == 18 ? 16 : 32);
	}
}

/* The usual table: link-local, then one IPv4 address, each as v1 and v2. */
#define PLAIN "mlx5_0 0/v1/fe80::1 1/v2/fe80::1 2/v1/10.0.0.1 3/v2/10.0.0.1\n"
/* A device shared with two other namespaces. */
#define SHARED                                                                                     \
	"rxe0 0/v2/fe80::1 1/v2/10.0.0.1 2/v2/fe80::2 3/v2/10.0.0.2 4/v2/fe80::3 5/v2/10.0.0.3\n"
#define BY_ADDRESS(range) "NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_RANGE=" range

static const struct {
	const char *view;
	const char *env;
	guint minor;
	const char *found;
} GID_CASES[] = {
	/* The default: index 0 through 2.20, the first IPv4 pair's v2 since. */
	{ PLAIN, "", 20, "mlx5_0:1=0" },
	{ PLAIN, "", 21, "mlx5_0:1=3" },
	{ PLAIN, "", 32, "mlx5_0:1=3" },
	{ PLAIN, "NCCL_IB_GID_INDEX=3", 20, "mlx5_0:1=3" },
	{ PLAIN, "NCCL_IB_GID_INDEX=-1", 20, "mlx5_0:1=fails" },
	/* Base 0: a leading 0 is octal; text without a number is 0, and since 2.32 the default. */
	{ PLAIN, "NCCL_IB_GID_INDEX=0x3", 27, "mlx5_0:1=3" },
	{ PLAIN, "NCCL_IB_GID_INDEX=010", 27, "mlx5_0:1=8(empty)" },
	{ PLAIN, "NCCL_IB_GID_INDEX=auto", 31, "mlx5_0:1=0" },
	{ PLAIN, "NCCL_IB_GID_INDEX=auto", 32, "mlx5_0:1=3" },
	{ PLAIN, "NCCL_IB_GID_INDEX=\"1\"", 27, "mlx5_0:1=0" },
	/* 8 bits reach the queue pair. */
	{ PLAIN, "NCCL_IB_GID_INDEX=300", 27, "mlx5_0:1=44(empty)" },
	{ PLAIN, "NCCL_IB_GID_INDEX=259", 30, "mlx5_0:1=3" },
	/* Since 2.31 an index beyond the table is an error. */
	{ PLAIN, "NCCL_IB_GID_INDEX=259", 31, "mlx5_0:1=fails" },
	/* A later v2 of the same family is never preferred. */
	{ SHARED, "", 27, "rxe0:1=1" },
	{ SHARED, BY_ADDRESS("10.0.0.3/32"), 27, "rxe0:1=5" },
	{ SHARED, BY_ADDRESS("10.0.0.2/31"), 27, "rxe0:1=3" },
	/* A range that matches nothing leaves index 0, silently. */
	{ SHARED, BY_ADDRESS("192.0.2.0/24"), 27, "rxe0:1=0" },
	/* One range alone, and what is not a range matches all. */
	{ SHARED, BY_ADDRESS("10.0.0.3/32,10.0.0.2/32"), 27, "rxe0:1=5" },
	{ SHARED, BY_ADDRESS("10.0.0.3"), 23, "rxe0:1=1" },
	{ SHARED, BY_ADDRESS("10.0.0.3"), 22, "rxe0:1=crashes" },
	{ SHARED, BY_ADDRESS("10.0.0.3/33"), 27, "rxe0:1=1" },
	{ SHARED, BY_ADDRESS("10.0.0.x/32"), 27, "rxe0:1=1" },
	{ SHARED, BY_ADDRESS("10.0.0.3/-1"), 27, "rxe0:1=0" },
	{ SHARED, BY_ADDRESS("2001:db8::/32"), 27, "rxe0:1=1" },
	/* The range does not apply to the GID at index 0. */
	{ "m 0/v2/10.0.0.1 1/v2/10.0.0.2\n", BY_ADDRESS("10.0.0.2/32"), 27, "m:1=0" },
	{ "m 0/v1/10.0.0.1 1/v2/10.0.0.2\n", BY_ADDRESS("10.0.0.2/32"), 27, "m:1=1" },
	/* IPv6 alone, with the default family: link-local v1 at index 0. */
	{ "m 0/v1/fe80::1 1/v2/fe80::1 2/v1/2001:db8::1 3/v2/2001:db8::1\n", "", 27, "m:1=0" },
	{ "m 0/v1/fe80::1 1/v2/fe80::1 2/v1/2001:db8::1 3/v2/2001:db8::1\n",
	  "NCCL_IB_ADDR_FAMILY=AF_INET6", 27, "m:1=3" },
	/* Any other word is AF_INET. */
	{ "m 0/v1/fe80::1 1/v2/fe80::1 2/v1/2001:db8::1 3/v2/2001:db8::1\n",
	  "NCCL_IB_ADDR_FAMILY=inet6", 27, "m:1=0" },
	{ PLAIN, "NCCL_IB_ROCE_VERSION_NUM=1", 27, "mlx5_0:1=2" },
	/* 169.254/16 counts as valid. */
	{ "m 0/v1/fe80::1 1/v1/169.254.1.1 2/v2/169.254.1.1\n", "", 27, "m:1=2" },
	/* A switch of the family does not look at the version. */
	{ "m 0/v1/fe80::1 1/v1/10.0.0.1\n", "", 27, "m:1=1" },
	/* Holes are not an error for IPv4; one at index 0 is for IPv6 in 2.21 to 2.25. */
	{ "m 2/v1/10.0.0.1 3/v2/10.0.0.1 200/v2/10.0.0.2\n", "", 21, "m:1=3" },
	{ "m 2/v1/2001:db8::1 3/v2/2001:db8::1\n", "NCCL_IB_ADDR_FAMILY=AF_INET6", 25,
	  "m:1=fails" },
	{ "m 2/v1/2001:db8::1 3/v2/2001:db8::1\n", "NCCL_IB_ADDR_FAMILY=AF_INET6", 26, "m:1=3" },
	/* Types that cannot be read, as those of other namespaces: an error, then memory by
	 * chance. */
	{ "m 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n", "", 25, "m:1=fails" },
	{ "m 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n", "", 26, "m:1=chance" },
	{ "m 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n", BY_ADDRESS("10.0.0.2/32"),
	  21, "m:1=3" },
	{ "m 0/v1/fe80::1 1/?/10.0.0.1 2/v1/10.0.0.2 3/v2/10.0.0.2\n", BY_ADDRESS("10.0.0.2/32"),
	  32, "m:1=3" },
	/* InfiniBand uses no GID; through 2.20 the index must be in its table all the same. */
	{ "m ib 0/v1/fe80::1\n", "NCCL_IB_GID_INDEX=3", 20, "m:1=fails" },
	{ "m ib 0/v1/fe80::1\n", "NCCL_IB_GID_INDEX=3", 22, "m:1=none" },
	{ "m ib 0/v1/fe80::1\n", "", 20, "m:1=none" },
	/* Devices without a PCI path, while they are merged. */
	{ "a soft 0/v2/10.0.0.1\nb soft 0/v2/10.0.0.2\n", "NCCL_IB_GID_INDEX=0", 19,
	  "a:1=0 b:1=0" },
	{ "a soft 0/v2/10.0.0.1\nb soft 0/v2/10.0.0.2\n", "NCCL_IB_GID_INDEX=0", 20,
	  "a:1=crashes b:1=crashes" },
	{ "a soft 0/v2/10.0.0.1\nb soft 0/v2/10.0.0.2\n", "NCCL_IB_GID_INDEX=0", 23,
	  "a:1=crashes b:1=crashes" },
	{ "a soft 0/v2/10.0.0.1\nb soft 0/v2/10.0.0.2\n",
	  "NCCL_IB_GID_INDEX=0 NCCL_IB_MERGE_NICS=0", 23, "a:1=0 b:1=0" },
	{ "a soft 0/v2/10.0.0.1\nb soft 0/v2/10.0.0.2\n", "NCCL_IB_GID_INDEX=0", 24,
	  "a:1=0 b:1=0" },
	/* Devices that the container cannot open are left out. */
	{ "a denied 0/v2/10.0.0.1\nb 0/v2/10.0.0.2\n", "NCCL_IB_GID_INDEX=0", 27, "b:1=0" },
};

static void test_gid(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(GID_CASES); i++) {
		g_autoptr(NcclView) view = view_from_text(GID_CASES[i].view);
		g_autofree char *found = outcomes_text(view, GID_CASES[i].env, GID_CASES[i].minor);

		g_test_message("%s, %s, 2.%u", GID_CASES[i].view, GID_CASES[i].env,
			       GID_CASES[i].minor);
		g_assert_cmpstr(found, ==, GID_CASES[i].found);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/simulate/NCCL_IB_HCA matches as NCCL does", test_match),
	UNIT_TEST("/simulate/a blank breaks an entry of NCCL_IB_HCA", test_blank_breaks_an_entry),
	UNIT_TEST("/simulate/16 ports through 2.18, 32 since", test_limit),
	UNIT_TEST("/simulate/the GID is the one that NCCL takes", test_gid),
	{ 0 },
};
