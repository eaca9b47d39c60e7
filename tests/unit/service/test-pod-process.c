/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/pod-process.h>
#include <string.h>

#include "../hardware/machine.h"
#include "../support/unit.h"

#define UID_A "0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6"
#define UID_B "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11"
#define V2    "sys/fs/cgroup/cgroup.controllers=cpu"
#define LOG_A "var/log/pods/ml_train-0_" UID_A "/x="
#define LOG_B "var/log/pods/ml_train-0_" UID_B "/x="
#define POD_A "sys/fs/cgroup/kubepods/burstable/pod" UID_A
#define POD_B "sys/fs/cgroup/kubepods/burstable/pod" UID_B
#define SLICE                                                                                      \
	"sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/"                                  \
	"kubepods-besteffort-pod0e7f1ca3_1b2c_4d5e_8f90_a1b2c3d4e5f6.slice"
#define STAT(pid, started)                                                                         \
	"proc/" pid "/stat=" pid                                                                   \
	" (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " started " 20"

typedef struct {
	const char *name;
	const char *files[12]; /* "path=contents" */
	int pid;	       /* 0: `code` */
	RdmadError code;
} Case;

static const Case CASES[] = {
	{ "the oldest process, whatever its number and its container",
	  { V2, LOG_A, POD_A "/sandbox/cgroup.procs=900", POD_A "/main/cgroup.procs=17\n18",
	    STAT("900", "100"), STAT("17", "300"), STAT("18", "200") },
	  900 },
	{ "systemd's driver, and a container with cgroups of its own",
	  { V2, LOG_A, SLICE "/cri-containerd-a.scope/init.scope/cgroup.procs=31",
	    STAT("31", "5") },
	  31 },
	{ "cgroup v1",
	  { LOG_A, "sys/fs/cgroup/pids/kubepods/pod" UID_A "/c/cgroup.procs=44",
	    "sys/fs/cgroup/pids/kubepods/pod" UID_A "/tasks=44", STAT("44", "5") },
	  44 },
	{ "a pod that had the name before has no process",
	  { V2, LOG_A, LOG_B, POD_A "/c/cgroup.procs=", POD_B "/c/cgroup.procs=52",
	    STAT("52", "5") },
	  52 },
	{ "a pod that had the name before still ends",
	  { V2, LOG_A, LOG_B, POD_A "/c/cgroup.procs=51", POD_B "/c/cgroup.procs=52",
	    STAT("51", "4"), STAT("52", "5") },
	  .code = RDMAD_ERROR_BUSY },
	{ "another pod of the name's beginning, another namespace",
	  { V2, "var/log/pods/ml_train-01_" UID_A "/x=", "var/log/pods/m_train-0_" UID_B "/x=",
	    POD_A "/c/cgroup.procs=51", POD_B "/c/cgroup.procs=52", STAT("51", "4"),
	    STAT("52", "5") },
	  .code = RDMAD_ERROR_NOT_FOUND },
	{ "a process that ended meanwhile",
	  { V2, LOG_A, POD_A "/c/cgroup.procs=61\n62", STAT("62", "9") },
	  62 },
	{ "processes of a namespace that is not below, and lines that are none",
	  { V2, LOG_A, POD_A "/c/cgroup.procs=0\n-3\nx\n\n99999999999", STAT("0", "1") },
	  .code = RDMAD_ERROR_NOT_FOUND },
	{ "a stat that is none",
	  { V2, LOG_A, POD_A "/c/cgroup.procs=71", "proc/71/stat=71 (a) S 1 2" },
	  .code = RDMAD_ERROR_NOT_FOUND },
	{ "no process yet", { V2, LOG_A, POD_A "/x=" }, .code = RDMAD_ERROR_NOT_FOUND },
	{ "no cgroups", { LOG_A }, .code = RDMAD_ERROR_UNAVAILABLE },
	{ "no directories of logs", { V2, POD_A "/x=" }, .code = RDMAD_ERROR_UNAVAILABLE },
};

static TestMachine *machine_of(const char *const *files)
{
	TestMachine *machine = test_machine_new_empty();

	for (guint i = 0; files[i]; i++) {
		const char *equals = strchr(files[i], '=');
		g_autofree char *path = g_strndup(files[i], equals - files[i]);

		test_machine_put(machine, path, equals + 1, -1);
	}
	return machine;
}

static void test_find(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(TestMachine) machine = machine_of(c->files);
	g_autoptr(GError) error = NULL;
	RdmadPodProcess process;

	if (c->pid) {
		g_assert_true(
			rdmad_pod_process_find(machine->root, "ml", "train-0", &process, &error));
		g_assert_no_error(error);
		g_assert_cmpint(process.pid, ==, c->pid);
	} else {
		g_assert_false(
			rdmad_pod_process_find(machine->root, "ml", "train-0", &process, &error));
		g_assert_error(error, RDMAD_ERROR, (gint)c->code);
	}
}

static void test_a_pid_that_was_given_again(void)
{
	static const struct {
		const char *cgroup;
		gboolean is;
	} cases[] = {
		{ "0::/kubepods/burstable/pod" UID_A "/c\n", TRUE },
		{ "0::/kubepods/burstable/pod" UID_B "/c\n", FALSE },
		{ "0::/system.slice/sshd.service\n", FALSE },
	};
	const RdmadPodProcess process = { 17, UID_A };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TestMachine) machine = test_machine_new_empty();

		g_assert_false(rdmad_pod_process_is(machine->root, &process));
		test_machine_put(machine, "proc/17/cgroup", cases[i].cgroup, -1);
		g_assert_cmpint(rdmad_pod_process_is(machine->root, &process), ==, cases[i].is);
	}
}

/* Process 17, in clock ticks since the boot. */
static void test_a_process_of_a_pod_began_before_another(void)
{
	static const struct {
		const char *files[5]; /* "path=contents" */
		gboolean precedes;
	} cases[] = {
		{ { V2, POD_A "/c/cgroup.procs=71", STAT("71", "500"), STAT("17", "500") }, TRUE },
		{ { V2, POD_A "/c/cgroup.procs=71", STAT("71", "501"), STAT("17", "500") }, FALSE },
		{ { V2, POD_A "/c/cgroup.procs=71", STAT("71", "499"), STAT("17", "500") }, TRUE },
		{ { V2, POD_A "/c/cgroup.procs=", STAT("17", "500") }, FALSE },
		{ { V2, POD_A "/c/cgroup.procs=71", STAT("71", "499") }, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TestMachine) machine = machine_of(cases[i].files);

		g_assert_cmpint(rdmad_pod_process_precedes(machine->root, 17), ==,
				cases[i].precedes);
	}
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/pod-process/find/", CASES, test_find),
	UNIT_TEST("/pod-process/a pid that was given again", test_a_pid_that_was_given_again),
	UNIT_TEST("/pod-process/a process of a pod began before another",
		  test_a_process_of_a_pod_began_before_another),
	{ 0 },
};
