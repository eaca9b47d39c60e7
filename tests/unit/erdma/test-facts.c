/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/kernel-modules.h>
#include <string.h>

#include "../hardware/machine.h"
#include "driver/facts.h"
#include "support/unit.h"

#define RELEASE "6.6.102"
#define DEP	"lib/modules/" RELEASE "/modules.dep"

typedef struct {
	const char *name;
	const char *dep;   /* NULL: there is none */
	const char *order; /* of the module, blank separated; "!text": an error */
	RdmadKernelModuleFile file;
} Case;

static const Case cases[] = {
	{ "no index", NULL, "!modules.dep", RDMAD_KERNEL_MODULE_UNKNOWN },
	{ "empty", "", "!has no module", RDMAD_KERNEL_MODULE_MISSING },
	{ "alone", "kernel/rdma_x.ko:\n", "lib/modules/" RELEASE "/kernel/rdma_x.ko",
	  RDMAD_KERNEL_MODULE_THERE },
	{ "last first", "kernel/a.ko:\nkernel/rdma_x.ko.xz: kernel/b.ko kernel/a.ko",
	  "lib/modules/" RELEASE "/kernel/a.ko lib/modules/" RELEASE
	  "/kernel/b.ko lib/modules/" RELEASE "/kernel/rdma_x.ko.xz",
	  RDMAD_KERNEL_MODULE_THERE },
	{ "dashes", "extra/rdma-x.ko.zst: \n", "lib/modules/" RELEASE "/extra/rdma-x.ko.zst",
	  RDMAD_KERNEL_MODULE_THERE },
	{ "absolute", "/opt/rdma_x.ko: kernel/a.ko\n",
	  "lib/modules/" RELEASE "/kernel/a.ko opt/rdma_x.ko", RDMAD_KERNEL_MODULE_THERE },
	{ "longer name", "kernel/rdma_xy.ko:\n", "!has no module", RDMAD_KERNEL_MODULE_MISSING },
	{ "other suffix", "kernel/rdma_x.kox:\n", "!has no module", RDMAD_KERNEL_MODULE_MISSING },
	{ "needed by another", "kernel/y.ko: kernel/rdma_x.ko\n", "!has no module",
	  RDMAD_KERNEL_MODULE_MISSING },
	{ "no colon", "kernel/rdma_x.ko\n", "!has no module", RDMAD_KERNEL_MODULE_MISSING },
	{ "directory of the name", "rdma_x.ko/y.ko:\n", "!has no module",
	  RDMAD_KERNEL_MODULE_MISSING },
};

static void test_index(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_auto(GStrv) order = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	RdmadKernelModuleFile file;

	test_machine_put(machine, "proc/sys/kernel/osrelease", RELEASE "\n", -1);
	if (c->dep)
		test_machine_put(machine, DEP, c->dep, -1);
	g_assert_true(rdmad_kernel_modules_find(
		machine->root, (const char *const[]){ "rdma_x", NULL }, &file, &error));
	g_assert_no_error(error);
	g_assert_cmpint(file, ==, c->file);
	order = rdmad_kernel_modules_order(machine->root, "rdma_x", &error);
	if (c->order[0] == '!') {
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
		g_assert_nonnull(strstr(error->message, c->order + 1));
		return;
	}
	g_assert_no_error(error);
	text = g_strjoinv(" ", order);
	g_assert_cmpstr(text, ==, c->order);
}

static void test_a_line_that_depmod_never_writes_is_refused(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autofree char *line = g_strnfill(70000, 'x');
	g_autoptr(GError) error = NULL;
	RdmadKernelModuleFile file;

	test_machine_put(machine, "proc/sys/kernel/osrelease", RELEASE "\n", -1);
	test_machine_put(machine, DEP, line, -1);
	g_assert_false(rdmad_kernel_modules_find(
		machine->root, (const char *const[]){ "rdma_x", NULL }, &file, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_what_cannot_be_read_is_no_fact(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autoptr(GError) error = NULL;

	test_machine_put(machine, "sys/module/erdma/initstate/x", "", -1);
	g_assert_null(erdma_facts_read(machine->root, "erdma", "", &error));
	g_assert_nonnull(error);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma/facts/modules.dep/", cases, test_index),
	UNIT_TEST("/erdma/facts/a line that depmod never writes is refused",
		  test_a_line_that_depmod_never_writes_is_refused),
	UNIT_TEST("/erdma/facts/what cannot be read is not a fact",
		  test_what_cannot_be_read_is_no_fact),
	{ 0 },
};
