/* SPDX-License-Identifier: Apache-2.0 */
#include <infiniband/verbs.h>

#include "hardware/verbs/limits.h"
#include "../support/unit.h"

static void test_every_limit_is_the_one_of_its_name(void)
{
	const struct ibv_device_attr_ex attr = {
		.orig_attr = {
			.max_qp = 1, .max_qp_wr = 2, .max_sge = 3, .max_cq = 4, .max_cqe = 5,
			.max_mr = 6, .max_mr_size = 7, .page_size_cap = 8, .max_pd = 9,
			.max_srq = 10, .max_ah = 11, .phys_port_cnt = 12,
		},
	};
	g_autofree RdmadVerbsLimits *limits = rdmad_verbs_limits_new(&attr, 12);

	g_assert_cmpuint(limits->max_qp, ==, 1);
	g_assert_cmpuint(limits->max_qp_wr, ==, 2);
	g_assert_cmpuint(limits->max_sge, ==, 3);
	g_assert_cmpuint(limits->max_cq, ==, 4);
	g_assert_cmpuint(limits->max_cqe, ==, 5);
	g_assert_cmpuint(limits->max_mr, ==, 6);
	g_assert_cmpuint(limits->max_mr_size, ==, 7);
	g_assert_cmpuint(limits->page_size_cap, ==, 8);
	g_assert_cmpuint(limits->max_pd, ==, 9);
	g_assert_cmpuint(limits->max_srq, ==, 10);
	g_assert_cmpuint(limits->max_ah, ==, 11);
	g_assert_cmpuint(limits->phys_port_cnt, ==, 12);
	g_assert_cmpuint(limits->n_ports, ==, 12);
	g_assert_cmpuint(limits->ports[11].max_mtu, ==, 0);
}

static void test_large_numbers_are_not_negative_ones(void)
{
	const struct ibv_device_attr_ex attr = {
		.orig_attr = { .max_ah = -1, .max_mr = INT_MIN, .max_mr_size = UINT64_MAX },
	};
	g_autofree RdmadVerbsLimits *limits = rdmad_verbs_limits_new(&attr, 0);

	g_assert_cmpuint(limits->max_ah, ==, 4294967295u);
	g_assert_cmpuint(limits->max_mr, ==, 2147483648u);
	g_assert_cmpuint(limits->max_mr_size, ==, G_MAXUINT64);
}

static void test_more_ports_than_a_byte_counts(void)
{
	const struct ibv_device_attr_ex attr = { .orig_attr = { .phys_port_cnt = 255 },
						 .phys_port_cnt_ex = 1000 };
	g_autofree RdmadVerbsLimits *limits = rdmad_verbs_limits_new(&attr, 255);

	g_assert_cmpuint(limits->phys_port_cnt, ==, 1000);
	g_assert_cmpuint(limits->n_ports, ==, 255);
}

static void test_atomics_have_names(void)
{
	static const struct {
		int cap;
		const char *name;
	} table[] = {
		{ IBV_ATOMIC_NONE, "none" },
		{ IBV_ATOMIC_HCA, "hca" },
		{ IBV_ATOMIC_GLOB, "global" },
		{ 77, "none" }, /* of a kernel to come */
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		const struct ibv_device_attr_ex attr = {
			.orig_attr = { .atomic_cap = (enum ibv_atomic_cap)table[i].cap },
		};
		g_autofree RdmadVerbsLimits *limits = rdmad_verbs_limits_new(&attr, 0);

		g_assert_cmpstr(rdmad_atomic_cap_name(limits->atomic_cap), ==, table[i].name);
	}
}

static void test_paging_has_names(void)
{
	static const struct {
		guint64 caps;
		const char *name;
	} table[] = {
		{ 0, "none" },
		{ IBV_ODP_SUPPORT, "explicit" },
		{ IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT, "implicit" },
		{ IBV_ODP_SUPPORT_IMPLICIT, "none" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		const struct ibv_device_attr_ex attr = {
			.odp_caps = { .general_caps = table[i].caps },
		};
		g_autofree RdmadVerbsLimits *limits = rdmad_verbs_limits_new(&attr, 0);

		g_assert_cmpstr(rdmad_paging_name(limits->paging), ==, table[i].name);
	}
}

#define TEST(name) UNIT_TEST("/verbs-limits/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(every_limit_is_the_one_of_its_name),
	TEST(large_numbers_are_not_negative_ones),
	TEST(more_ports_than_a_byte_counts),
	TEST(atomics_have_names),
	TEST(paging_has_names),
	{ 0 },
};
