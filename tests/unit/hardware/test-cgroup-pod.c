/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/cgroup-pod.h>
#include <rdmad/error.h>

#include "hardware/sysroot.h"
#include "../scratch.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define UID    "0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6"
#define UID_   "0e7f1ca3_1b2c_4d5e_8f90_a1b2c3d4e5f6"
#define OTHER  "11111111-2222-3333-4444-555555555555"
#define STATIC "4b8a0f1cdb3d95d0e2ad2b7e8d0f3a11"
#define ID     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

typedef struct {
	const char *text, *uid, *container; /* uid NULL: not in a pod */
} Case;

static const Case cases[] = {
	/* systemd's driver */
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope\n",
	  UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope\n", UID, ID },
	{ "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/docker-" ID ".scope\n",
	  UID, ID },
	{ "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  UID, ID },
	/* cgroupfs' driver */
	{ "0::/kubepods/burstable/pod" UID "/" ID "\n", UID, ID },
	{ "0::/kubepods/pod" UID "/crio-" ID "\n", UID, ID },
	{ "0::/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID "\n", UID, ID },
	/* The runtime and kubelet use different drivers. */
	{ "0::/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID "\n",
	  UID, ID },
	/* A static pod, whose UID is a hash. */
	{ "0::/kubepods/burstable/pod" STATIC "/" ID "\n", STATIC, ID },
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
	  ".slice/cri-containerd-" ID ".scope\n",
	  STATIC, ID },
	/* Cgroups made inside a container. */
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID
	  ".scope/system.slice/sshd.service\n",
	  UID, ID },
	{ "0::/kubepods/pod" UID "/" ID "/docker/" ID2 "\n", UID, ID },
	{ "0::/kubepods/pod" UID "/" ID "/kubepods/pod" OTHER "/" ID2 "\n", UID, ID },
	/* v1: one line per controller; and both versions. */
	{ "12:rdma:/\n11:cpu,cpuacct:/kubepods/burstable/pod" UID "/" ID "\n1:name=systemd:/\n",
	  UID, ID },
	{ "1:name=systemd:/kubepods/pod" UID "/" ID "\n0::/\n", UID, ID },
	/* As visible within a cgroup namespace. */
	{ "0::/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID },
	{ "0::/../../pod" UID "/" ID "\n", UID, ID },
	{ "0::/../cri-containerd-" ID ".scope\n", NULL, NULL },
	/* An unknown form of the runtime, or no container. */
	{ "0::/kubepods/pod" UID "/kata_" ID "\n", UID, "" },
	{ "0::/kubepods/pod" UID "\n", UID, "" },
	{ "0::/kubepods/pod" UID "/crio-conmon-" ID ".scope\n", UID, "" },
	{ "0::/kubepods/pod" UID "/0123456789abcdef\n", UID, "" },
	/* Removed while its last process ends. */
	{ "0::/kubepods/pod" UID "/" ID " (deleted)\n", UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope (deleted)\n", UID, ID },
	/* Not a pod. */
	{ "", NULL, NULL },
	{ "\n\n", NULL, NULL },
	{ "0::/\n", NULL, NULL },
	{ "0::", NULL, NULL },
	{ ":::::\n", NULL, NULL },
	{ "0::/system.slice/ssh.service\n", NULL, NULL },
	{ "0::/user.slice/user-1000.slice/session-1.scope\n", NULL, NULL },
	{ "0::/machine.slice/libpod-" ID ".scope\n", NULL, NULL },
	{ "0::/user.slice/pod" UID "/" ID "\n", NULL, NULL },
	{ "0::/kubepods.slice/kubepods-burstable.slice\n", NULL, NULL },
	{ "0::/kubepods/burstable\n", NULL, NULL },
	/* Invalid UIDs. */
	{ "0::/kubepods/pod\n", NULL, NULL },
	{ "0::/kubepods/podinfra/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod" UID "f/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod0E7F1CA3-1B2C-4D5E-8F90-A1B2C3D4E5F6/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod" ID "/" ID "\n", NULL, NULL },
};

static void test_a_process_is_of_the_pod_whose_cgroup_it_is_in(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Case *c = &cases[i];
		RdmadCgroupPod pod;

		g_test_message("case %zu", i);
		g_assert_cmpint(rdmad_cgroup_pod_parse(c->text, &pod), ==, c->uid != NULL);
		if (!c->uid)
			continue;
		g_assert_cmpstr(pod.uid, ==, c->uid);
		g_assert_cmpstr(pod.container_id, ==, c->container);
	}
}

/* The sanitizer reports reads beyond the end. */
static void test_a_file_may_end_anywhere(void)
{
	const char *text = cases[0].text;

	for (gsize len = strlen(text); len > 0; len--) {
		g_autofree char *cut = g_strndup(text, len);
		RdmadCgroupPod pod;

		if (rdmad_cgroup_pod_parse(cut, &pod))
			g_assert_cmpstr(pod.uid, ==, UID);
	}
}

/* ---- the cgroup of a pod ---- */

typedef struct {
	const char *name, *cgroup, *uid;
	const char *files; /* directories besides the cgroup, and "controllers" for v2 */
	const char *found; /* NULL: an error */
	int code;
} FindCase;

#define FIND_UID  "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11"
#define FIND_UNIT "1c8b5f0e_8a5e_4a3c_9a57_0e7d3c1f2b11"
#define ROOT	  "sys/fs/cgroup/"
#define UNITS	  "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" FIND_UNIT ".slice"
#define V2(name, path, uid)                                                                        \
	{                                                                                          \
		name, ROOT path, uid, "controllers", ROOT path                                     \
	}

static const FindCase finds[] = {
	V2("systemd", UNITS, FIND_UID),
	V2("cgroupfs", "kubepods/pod" FIND_UID, FIND_UID),
	V2("kind", "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" FIND_UNIT ".slice",
	   FIND_UID),
	V2("kind-cgroupfs", "kubelet/kubepods/besteffort/pod" FIND_UID, FIND_UID),
	V2("cgroup-root", "nodes/kubepods/burstable/pod" FIND_UID, FIND_UID),
	V2("cgroup-root-of-two",
	   "a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-pod" FIND_UNIT ".slice", FIND_UID),
	V2("static-pod", "kubepods/burstable/pod0123456789abcdef0123456789abcdef",
	   "0123456789abcdef0123456789abcdef"),
	{ "v1", ROOT "systemd/" UNITS, FIND_UID, ROOT "rdma/" UNITS, ROOT "rdma/" UNITS },
	{ "v1-cgroupfs", ROOT "pids/nodes/kubepods/pod" FIND_UID, FIND_UID,
	  ROOT "rdma/nodes/kubepods/pod" FIND_UID, ROOT "rdma/nodes/kubepods/pod" FIND_UID },
	{ "v1-joined", ROOT "cpu,cpuacct/kubepods/pod" FIND_UID, FIND_UID,
	  ROOT "rdma/kubepods/pod" FIND_UID, ROOT "rdma/kubepods/pod" FIND_UID },
	{ "v1-without-the-pod", ROOT "systemd/" UNITS, FIND_UID, ROOT "rdma/kubepods.slice", NULL,
	  RDMAD_ERROR_NOT_FOUND },
	{ "v1-without-the-controller", ROOT "systemd/" UNITS, FIND_UID, ROOT "memory", NULL,
	  RDMAD_ERROR_UNAVAILABLE },
	{ "v2-without-the-controller", ROOT UNITS, FIND_UID, "other-controllers", NULL,
	  RDMAD_ERROR_UNAVAILABLE },
	{ "another-pod", ROOT "kubepods/pod2c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11", FIND_UID,
	  "controllers", NULL, RDMAD_ERROR_NOT_FOUND },
	{ "a-path", ROOT UNITS, "../../system.slice", "controllers", NULL, RDMAD_ERROR_NOT_FOUND },
	{ "nothing", ROOT UNITS, "", "controllers", NULL, RDMAD_ERROR_NOT_FOUND },
};

static void test_find(gconstpointer data)
{
	const FindCase *one = data;
	g_autofree char *dir = g_dir_make_tmp("rdmad-cgroup-XXXXXX", NULL);
	g_autofree char *cgroup = g_build_filename(dir, one->cgroup, NULL);
	g_autofree char *file = g_build_filename(dir, ROOT "cgroup.controllers", NULL);
	g_autofree char *more = g_build_filename(dir, one->files, NULL);
	g_autofree char *found = NULL;
	g_autoptr(GError) error = NULL;
	RdmadSysroot *root;

	g_assert_cmpint(g_mkdir_with_parents(cgroup, 0700), ==, 0);
	if (g_str_equal(one->files, "controllers"))
		g_assert_true(g_file_set_contents(file, "cpu memory rdma\n", -1, NULL));
	else if (g_str_equal(one->files, "other-controllers"))
		g_assert_true(g_file_set_contents(file, "cpu memory rdmax\n", -1, NULL));
	else
		g_assert_cmpint(g_mkdir_with_parents(more, 0700), ==, 0);
	root = rdmad_sysroot_new(dir, &error);
	g_assert_no_error(error);
	found = rdmad_cgroup_pod_find(root, one->uid, "rdma", &error);
	g_assert_cmpstr(found, ==, one->found);
	if (!one->found)
		g_assert_error(error, RDMAD_ERROR, one->code);
	rdmad_sysroot_free(root);
	scratch_free(g_steal_pointer(&dir));
}

/* Without a free descriptor, nothing is known about the pod's cgroup. */
static void test_what_cannot_be_looked_for_is_not_missing(void)
{
	g_autoptr(GError) error = NULL;
	RdmadSysroot *root = rdmad_sysroot_new(NULL, &error);
	rlim_t before;

	g_assert_no_error(error);
	before = limit_descriptors(0);
	g_assert_null(rdmad_cgroup_pod_find(root, FIND_UID, "rdma", &error));
	limit_descriptors(before);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	rdmad_sysroot_free(root);
}

#define TEST(name) UNIT_TEST("/cgroup-pod/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_process_is_of_the_pod_whose_cgroup_it_is_in),
	TEST(a_file_may_end_anywhere),
	UNIT_CASES("/cgroup-pod/find/", finds, test_find),
	TEST(what_cannot_be_looked_for_is_not_missing),
	{ 0 },
};
