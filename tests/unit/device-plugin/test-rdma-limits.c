/* SPDX-License-Identifier: Apache-2.0 */
/* tests/integration/test-pre-start.py tests the writing */
#include "prestart/rdma-limits.h"

#include <rdmad/error.h>
#include <unistd.h>

#include "hardware/sysroot.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define POD "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11"

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

typedef struct {
	const char *name, *uid;
	int code;
} UidCase;

static const UidCase UIDS[] = {
	{ "a pod that has no cgroup", POD, RDMAD_ERROR_NOT_FOUND },
	{ "a path", "../../system.slice", RDMAD_ERROR_INVALID },
	{ "a blank", "a b", RDMAD_ERROR_INVALID },
	{ "nothing", "", RDMAD_ERROR_INVALID },
	{ "too much", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	  RDMAD_ERROR_INVALID },
};

static void test_uid(gconstpointer data)
{
	const UidCase *one = data;
	g_autofree char *dir = g_dir_make_tmp("rdmad-limits-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	RdmadSysroot *root = rdmad_sysroot_new(dir, &error);
	g_autofree char *directory = NULL;

	g_assert_no_error(error);
	directory = rdma_limits_directory(root, one->uid, &error);
	g_assert_null(directory);
	g_assert_error(error, RDMAD_ERROR, one->code);
	rdmad_sysroot_free(root);
	rmdir(dir);
}

/* Without a free descriptor, nothing is known about the pod's cgroup. */
static void test_what_cannot_be_looked_for_is_not_missing(void)
{
	g_autoptr(GError) error = NULL;
	RdmadSysroot *root = rdmad_sysroot_new(NULL, &error);
	g_autofree char *directory = NULL;
	rlim_t before;

	g_assert_no_error(error);
	before = limit_descriptors(0);
	directory = rdma_limits_directory(root, POD, &error);
	limit_descriptors(before);
	g_assert_null(directory);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	rdmad_sysroot_free(root);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/rdma-limits/line/", LINES, test_line),
	UNIT_CASES("/rdma-limits/uid/", UIDS, test_uid),
	UNIT_TEST("/rdma-limits/what_cannot_be_looked_for_is_not_missing",
		  test_what_cannot_be_looked_for_is_not_missing),
	{ 0 },
};
