/* SPDX-License-Identifier: Apache-2.0 */
/* tests/integration/test-pre-start.py tests the writing */
#include "prestart/rdma-limits.h"

#include "../support/unit.h"

typedef struct {
	const char *name;
	RdmaLimits limits;
	const char *line;
} LineCase;

static const LineCase LINES[] = {
	{ "both", { 20, 3000 }, "mlx5_0 hca_handle=20 hca_object=3000" },
	{ "handles alone", { 20, 0 }, "mlx5_0 hca_handle=20 hca_object=max" },
	{ "objects alone", { 0, 3000 }, "mlx5_0 hca_handle=max hca_object=3000" },
};

static void test_line(gconstpointer data)
{
	const LineCase *one = data;
	g_autofree char *line = rdma_limits_line("mlx5_0", &one->limits);

	g_assert_cmpstr(line, ==, one->line);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/rdma-limits/line/", LINES, test_line),
	{ 0 },
};
